-- Until when a user who has fetched a payload that may be read once may fetch it again, since an answer can be lost on its way;
-- null before the first fetch.
alter table untaken add column leased_until integer;

-- The leases that end next.
create index untaken_by_lease on untaken (leased_until) where leased_until is not null;
