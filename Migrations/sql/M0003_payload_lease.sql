-- When the lease of a read-once payload ends; null before the first fetch. Until then the user may
-- fetch it again, because the first answer may have been lost.
alter table untaken add column leased_until integer;

-- Finds the leases that end next.
create index untaken_by_lease on untaken (leased_until) where leased_until is not null;
