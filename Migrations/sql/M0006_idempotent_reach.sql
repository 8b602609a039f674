-- The numbers of recipients and pushes in the answer, for the answer to a repeated request. Both
-- are null if they were not known yet, and in rows from before this migration.
alter table idempotency add column recipients integer;
alter table idempotency add column pushes integer check ((pushes is null) = (recipients is null));
