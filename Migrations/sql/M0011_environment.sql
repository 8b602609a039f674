-- How often a device was moved to the platform's other environment since it registered its handle: once where it is not known,
-- and once back if it is not known there either.
alter table device add column environment_moves integer not null default 0 check (environment_moves between 0 and 2);
