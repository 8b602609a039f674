-- Accounts side by side on one device: a registration that is shared leaves those of other accounts with the same handle in
-- place, and its pushes carry a hint whose they are.
alter table device add column is_shared boolean not null default false;

drop index device_by_handle;
-- An account has a handle once.
create unique index device_by_handle on device (platform, handle_key, user_id) where handle_key is not null;
-- Of all accounts, one at most has it without sharing it.
create unique index device_by_sole_handle on device (platform, handle_key) where handle_key is not null and not is_shared;
