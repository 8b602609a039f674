-- A handle that can be guessed is a device's once its user has returned a code that was pushed to it. Until then it has a row
-- of its own in `device`, which nothing but the code is pushed to; the registrations that are here already are confirmed.

-- Set: a claim of the device with that number to the handle in this row, whose handle_key is another kind of hash.
alter table device add column claims_for integer references device (number) on delete cascade;
-- Set: it was retired because another account registered its handle, which was on this platform.
alter table device add column moved_platform text check (moved_platform is null or retired_at is not null);

-- A device claims one handle at a time.
create unique index device_by_claim on device (claims_for) where claims_for is not null;
create index device_by_claim_time on device (registered_at) where claims_for is not null;

-- The last code that was pushed to a handle for a user. It outlives the claim, so that claiming again is no way around the
-- bounds.
create table confirmation (
    handle_key blob primary key check (length(handle_key) = 16),  -- the claim's: a keyed hash of user, handle and platform
    user_id integer not null references user (id) on delete cascade,
    notification_id integer not null,   -- what the code was computed from, with its seed; it may be gone
    pushed_at integer not null,         -- when its push was due
    failures integer not null default 0,  -- how many wrong codes were returned
    is_used integer not null default 0 check (is_used in (0, 1))  -- 1: the code has registered the handle
) strict, without rowid;

create index confirmation_by_user on confirmation (user_id, pushed_at);
create index confirmation_by_push on confirmation (pushed_at);
