-- The last look of the device, as in SQLite (M0019).
alter table device add column look_id bigint, add column look_at bigint;
