-- Times are milliseconds since 1970, UTC.

create table user (
    id integer primary key,
    name text not null,                 -- as written at first
    name_key text not null unique,      -- in lower case: what names are compared by
    role text not null check (role in ('device', 'publisher', 'admin')),
    password text not null,             -- Argon2id, PHC string format
    password_number integer not null default 1,  -- one more with each change of the password
    created_at integer not null
) strict;

create table token (
    hash blob primary key check (length(hash) = 32),  -- SHA-256; the token itself is nowhere
    prefix text not null unique,        -- its first characters: what lists show
    user_id integer not null references user (id) on delete cascade,
    is_session integer not null check (is_session in (0, 1)),  -- 1: made by signing in, 0: by an administrator
    scopes text not null,               -- names with blanks in between
    created_at integer not null,
    expires_at integer not null,
    used_at integer                     -- late and not to the minute
) strict, without rowid;

create index token_by_user on token (user_id, created_at);
create index token_by_expiry on token (expires_at);

-- Who signed in with the old password is signed out; what an administrator made for the user stays.
create trigger session_ends_with_password after update of password on user begin
    update user set password_number = old.password_number + 1 where id = new.id;
    delete from token where user_id = new.id and is_session;
end;

create table device (
    id text primary key,                -- the registration id
    user_id integer not null references user (id) on delete cascade,
    platform text,                      -- the sender's name; null until the device has told it
    handle text,                        -- the address at the provider; comes and goes with the platform
    created_at integer not null,
    registered_at integer not null,     -- when the device last told its handle
    pushed_at integer,                  -- when a provider last accepted a push to it
    retired_at integer,                 -- set: a tombstone, nothing is sent to it any more
    retired_reason text,
    check ((platform is null) = (handle is null)),
    check ((retired_at is null) = (retired_reason is null))
) strict;

-- An address belongs to one living registration.
create unique index device_by_handle on device (platform, handle) where retired_at is null and handle is not null;
create index device_by_user on device (user_id, created_at);

create table device_tag (
    device_id text not null references device (id) on delete cascade,
    tag text not null,                  -- in lower case
    primary key (device_id, tag)
) strict, without rowid;

create index device_tag_by_tag on device_tag (tag, device_id);

create table notification (
    id integer primary key check (id > 0),  -- random: what the push carries
    sender_id integer references user (id) on delete set null,
    payload blob,                       -- sealed JSON text; null once erased
    is_stored_by_clients integer not null check (is_stored_by_clients in (0, 1)),  -- 0: Cache-Control: no-store
    is_read_once integer not null check (is_read_once in (0, 1)),
    priority text not null check (priority in ('normal', 'high')),
    collapse_key text,
    created_at integer not null,
    expires_at integer not null
) strict;

create index notification_by_expiry on notification (expires_at);

create table recipient (
    notification_id integer not null references notification (id) on delete cascade,
    user_id integer not null references user (id) on delete cascade,
    fetched_at integer,                 -- when the payload was first collected: the receipt
    read_at integer,                    -- when the client said that it was read
    primary key (notification_id, user_id)
) strict, without rowid;

create index recipient_by_user on recipient (user_id, notification_id);

-- The outbox: one row for each push to one device, written with the notification in one transaction.
create table delivery (
    id integer primary key,
    notification_id integer not null references notification (id) on delete cascade,
    device_id text not null references device (id) on delete cascade,
    platform text not null,             -- the device's, so that each sender finds its own work
    state text not null check (state in ('queued', 'sending', 'accepted', 'expired', 'failed', 'cancelled')),
    attempt_id text not null,           -- a UUID, the same on every try
    attempts integer not null default 0,
    due_at integer not null,            -- queued: not before; sending: when the lease ends and it is free again
    settled_at integer,
    reason text,                        -- the provider's words for the last refusal
    provider_id text                    -- the provider's name for the accepted push
) strict;

create index delivery_by_due on delivery (platform, due_at) where state in ('queued', 'sending');
create index delivery_by_device on delivery (device_id) where state in ('queued', 'sending');
create index delivery_by_notification on delivery (notification_id);
