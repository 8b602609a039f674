-- How often the server has moved the device to the provider's other environment since its
-- registration: once if the first one does not know the handle, and once back if neither does.
alter table device add column environment_moves integer not null default 0 check (environment_moves between 0 and 2);
