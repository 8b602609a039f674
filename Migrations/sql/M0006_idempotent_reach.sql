-- How many recipients and pushes the answer had, so that a repeated request has the same answer; both null if the answer said that
-- they were not known yet, and in rows from before this migration.
alter table idempotency add column recipients integer;
alter table idempotency add column pushes integer check ((pushes is null) = (recipients is null));
