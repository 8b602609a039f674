-- A device gets a guessable handle once its user has returned the code that the server pushed to
-- it. Until then the claim is a row of its own in `device`, which gets only the push with the
-- code. Registrations from before this migration count as confirmed.

-- Set: this row is a claim to its handle by the device with that number. Its handle_key is a keyed
-- hash of another kind.
alter table device add column claims_for integer references device (number) on delete cascade;
-- Set: the device was retired because another user registered its handle on this platform.
alter table device add column moved_platform text check (moved_platform is null or retired_at is not null);

-- A device has at most one claim.
create unique index device_by_claim on device (claims_for) where claims_for is not null;
create index device_by_claim_time on device (registered_at) where claims_for is not null;

-- The last code that was pushed to a handle for a user. The row outlives the claim, so that
-- another claim does not reset the limits.
create table confirmation (
    handle_key blob primary key check (length(handle_key) = 16),  -- the claim's hash of user, handle and platform
    user_id integer not null references user (id) on delete cascade,
    notification_id integer not null,   -- the code is computed from it and its seed; it may have been deleted
    pushed_at integer not null,         -- when its push was due
    failures integer not null default 0,  -- how many wrong codes the user has returned
    is_used integer not null default 0 check (is_used in (0, 1))  -- 1: the code has registered the handle
) strict, without rowid;

create index confirmation_by_user on confirmation (user_id, pushed_at);
create index confirmation_by_push on confirmation (pushed_at);
