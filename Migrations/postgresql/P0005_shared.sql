-- Several users of one device. A shared registration leaves those of other users with the same
-- handle in place, and each of its pushes carries a hint that identifies its user.
alter table device add column is_shared boolean not null default false;

drop index device_by_handle;
-- A user registers a handle at most once.
create unique index device_by_handle on device (platform, handle_key, user_id) where handle_key is not null;
-- At most one registration of a handle is not shared.
create unique index device_by_sole_handle on device (platform, handle_key) where handle_key is not null and not is_shared;
