-- 1: the user gets end-to-end payloads only.
alter table user add column requires_encryption integer not null default 0 check (requires_encryption in (0, 1));
-- 1: the payload is encrypted end to end; 0: it is not, or is from before this migration.
alter table notification add column is_end_to_end integer not null default 0 check (is_end_to_end in (0, 1));
