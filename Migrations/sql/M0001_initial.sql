-- Times are milliseconds since 1970, UTC. What is sealed opens with a data key and at its place only; a keyed hash is 16
-- bytes of HMAC-SHA-256. What a thief of this file sees is in docs/stolen-database.md.

-- The data keys under which something may be sealed.
create table data_key (
    number integer primary key check (number > 0),
    check_value blob not null check (length(check_value) = 16),  -- made of the key; recognises it
    used_at integer not null,           -- since when
    seals integer not null default 0    -- how many values it has sealed; some fewer after a crash
) strict;

-- What the keys of all keyed hashes are made of.
create table index_secret (
    id integer primary key check (id = 1),
    secret blob not null                -- sealed
) strict;

create table user (
    id integer primary key autoincrement,  -- never given out twice
    name blob not null,                 -- sealed; as written at first
    name_key blob not null unique check (length(name_key) = 16),  -- a keyed hash of it in lower case
    role text not null check (role in ('device', 'publisher', 'admin')),
    password text not null,             -- Argon2id, PHC string format
    password_number integer not null default 1,  -- one more with each change of the password
    created_at integer not null,
    disabled_at integer                 -- set: refused like nobody until it is null again
) strict;

create table token (
    hash blob primary key check (length(hash) = 32),  -- SHA-256; the token itself is nowhere
    prefix text not null unique,        -- its first characters: what lists show
    user_id integer not null references user (id) on delete cascade,
    is_session integer not null check (is_session in (0, 1)),  -- 1: made by signing in, 0: by an administrator
    scopes text not null,               -- names with blanks in between
    created_at integer not null,
    expires_at integer not null,
    used_at integer,                    -- late and not to the minute
    seal integer not null               -- a keyed hash over the hash and the user
) strict, without rowid;

create index token_by_user on token (user_id, created_at);
create index token_by_expiry on token (expires_at);

-- Who signed in with the old password is signed out; what an administrator made for the user stays. The same password
-- hashed anew has the number that it had.
create trigger session_ends_with_password after update of password_number on user begin
    delete from token where user_id = new.id and is_session;
end;

create table device (
    number integer primary key autoincrement,  -- what the outbox calls it; never given out twice
    id text not null unique,            -- the registration id
    user_id integer not null references user (id) on delete cascade,
    platform text,                      -- the sender's name; null until the device has told it
    lane text,                          -- the queue that its pushes go through
    handle blob,                        -- sealed: the address at the provider; comes and goes with the platform
    handle_key blob check (length(handle_key) = 16),  -- a keyed hash of it
    tags blob,                          -- sealed: JSON, all tags
    created_at integer not null,
    registered_at integer not null,     -- when the device last told its handle
    retired_at integer,                 -- set: a tombstone, its address is erased
    retired_reason text,
    check ((platform is null) = (lane is null)),
    check ((platform is null) = (handle is null)),
    check ((platform is null) = (handle_key is null)),
    check ((platform is null) = (tags is null)),
    check ((retired_at is null) = (retired_reason is null)),
    check (retired_at is null or platform is null)
) strict;

-- An address belongs to one living registration.
create unique index device_by_handle on device (platform, handle_key) where handle_key is not null;
create index device_by_user on device (user_id, created_at);
create index device_by_retirement on device (user_id, retired_at) where retired_at is not null;

create table device_tag (
    device integer not null references device (number) on delete cascade,
    tag blob not null check (length(tag) = 16),  -- a keyed hash of it in lower case
    primary key (device, tag)
) strict, without rowid;

-- A broadcast walks along it, page by page.
create index device_tag_by_tag on device_tag (tag, device);

-- Apart from the device, because it is written with each push.
create table device_push (
    device integer primary key,         -- its number
    accepted_at integer not null        -- when a provider last accepted a push to it
) strict;

create table notification (
    id integer primary key check (id > 0),  -- random: what the push carries
    sender_id integer not null,         -- the user, who may have been deleted
    is_stored_by_clients integer not null check (is_stored_by_clients in (0, 1)),  -- 0: Cache-Control: no-store
    is_read_once integer not null check (is_read_once in (0, 1)),
    priority text not null check (priority in ('normal', 'high')),
    collapse_id text,                   -- a keyed hash of the sender and its collapse key
    sequence integer not null default 0,  -- its place in the order in which notifications came
    seed integer not null,              -- random: the pushes' own ids are made of it
    created_at integer not null,
    expires_at integer not null,
    recalled_at integer,                -- when its sender or an administrator took it back
    recall_change integer,              -- the number of that change, where it is not with each of many recipients
    payload blob                        -- sealed JSON text, bound to id and sender; null once erased. Last, so that the
                                        -- others are read without what a long one overflows into
) strict;

create index notification_by_expiry on notification (expires_at);
create index notification_by_recall on notification (recall_change) where recall_change is not null;

create table recipient (
    notification_id integer not null references notification (id) on delete cascade,
    user_id integer not null references user (id) on delete cascade,
    fetched_at integer,                 -- when the payload was first collected: the receipt
    read_at integer,                    -- when the client said that it was read
    dismissed_at integer,               -- when the user put it away, or was given what goes with that; not shown any more
    change integer not null,            -- the number of the last change of what the user sees
    changed_at integer not null,        -- when that was
    seal integer not null,              -- a keyed hash over notification and user
    primary key (notification_id, user_id)
) strict, without rowid;

-- Lists are read along it.
create unique index recipient_by_user on recipient (user_id, change);

-- The numbers of changes are one rising sequence for all users. Numbers below this one may have been given out.
create table change_number (
    id integer primary key check (id = 1),
    reserved integer not null
) strict;

-- Who has not yet been given a payload that may be read once: with the last of them it goes.
create table untaken (
    notification_id integer not null,
    user_id integer not null,
    primary key (notification_id, user_id),
    foreign key (notification_id, user_id) references recipient on delete cascade
) strict, without rowid;

-- The outbox: one row for each push to one device, the first written with the notification in one transaction.
create table delivery (
    notification_id integer not null references notification (id) on delete cascade,
    device integer not null,            -- its number; the row outlives the device
    user_id integer not null,           -- whose device it was
    lane text not null,                 -- the device's, so that each queue finds its own work
    is_bulk integer not null check (is_bulk in (0, 1)),  -- 1: of a broadcast, which lets others pass
    state text not null check (state in ('queued', 'sending', 'accepted', 'expired', 'failed', 'cancelled')),
    attempts integer not null default 0,
    due_at integer,                     -- queued: not before; null: parked, not until its device comes by itself. sending:
                                        -- leased to the process that has the database
    is_withdrawn integer not null default 0 check (is_withdrawn in (0, 1)),  -- 1: on its way, but not to be tried again
    settled_at integer,                 -- set: nothing happens to it any more
    reason text,                        -- the provider's words for the last refusal, or why it waits
    provider_id text,                   -- the provider's name for the accepted push; 'stream' for an event stream's
    primary key (notification_id, device),
    check ((settled_at is null) = (state in ('queued', 'sending'))),
    check (due_at is not null or state <> 'sending')
) strict, without rowid;

-- What is parked is in none of these two: see `parking`.
create index delivery_by_due on delivery (lane, is_bulk, due_at) where state = 'queued' and due_at is not null;
create index delivery_by_device on delivery (device) where settled_at is null and due_at is not null;
-- What was on its way when the last process ended.
create index delivery_by_lease on delivery (state) where state = 'sending';
-- What a stream that opens again may have lost.
create index delivery_by_stream on delivery (device, settled_at) where provider_id = 'stream';

-- Up to which change of its user's notifications nothing is parked for a device: what is parked is found along
-- `recipient_by_user`, for an index of its own would cost each post to a device that is not there two pages.
create table parking (
    device integer primary key,         -- its number
    change integer not null             -- of the recipient's row
) strict;

-- The newest notification of each collapse key that a device was meant for, whose place the next one takes.
create table collapse (
    device integer not null,            -- its number
    collapse_id text not null,          -- the notification's
    notification_id integer not null,
    sequence integer not null,          -- the notification's
    primary key (device, collapse_id)
) strict, without rowid;

-- Posts that came with an Idempotency-Key, for a day: the same one again is not another notification.
create table idempotency (
    key blob primary key check (length(key) = 16),  -- a keyed hash of the user, the route and the key
    request blob not null check (length(request) = 16),  -- a keyed hash of query and body
    notification_id integer not null,   -- which may be gone
    created_at integer not null,        -- the notification's
    expires_at integer not null         -- the notification's
) strict, without rowid;

create index idempotency_by_creation on idempotency (created_at);

-- A broadcast that has not yet reached all its devices.
create table fanout (
    notification_id integer primary key references notification (id) on delete cascade,
    expressions blob not null,          -- sealed: JSON, the tag expressions
    platforms text,                     -- JSON: their names; null: all
    branch integer not null,            -- which of the tags that it walks along
    cursor integer not null,            -- the last device's number that it has come to
    is_set_aside integer not null default 0 check (is_set_aside in (0, 1))  -- 1: it cannot be read, and goes no further
) strict;

-- How many deliveries have ever got into each state: what is there now, plus what has been deleted.
create table tally (
    lane text not null,
    state text not null check (state in ('enqueued', 'accepted', 'expired', 'failed', 'cancelled')),
    count integer not null,
    primary key (lane, state)
) strict, without rowid;

-- Whatever deletes a device, its pushes are not lost without a word.
create trigger push_ends_with_device before delete on device begin
    delete from device_push where device = old.number;
    delete from collapse where device = old.number;
    delete from parking where device = old.number;
    update delivery set due_at = 0 where device = old.number and due_at is null and settled_at is null
        and notification_id in (select notification_id from recipient where user_id = old.user_id);
    insert into tally (lane, state, count)
        select lane, 'cancelled', count(*) from delivery where device = old.number and settled_at is null
            and due_at is not null group by lane
        on conflict (lane, state) do update set count = count + excluded.count;
    update delivery set state = 'cancelled', settled_at = unixepoch() * 1000, reason = 'the device is gone'
        where device = old.number and settled_at is null and due_at is not null;
end;

-- Before the rows along which what is parked is found are gone.
create trigger parking_ends_with_user before delete on user begin
    update delivery set due_at = 0 where due_at is null and settled_at is null and user_id = old.id
        and notification_id in (select notification_id from recipient where user_id = old.id);
end;

-- Who did what. Entries are added, and deleted from the oldest on; nothing else ever happens to them.
create table audit (
    number integer primary key,         -- counted from 1 without gaps
    at integer not null,
    entry blob not null,                -- sealed text
    chain blob not null check (length(chain) = 32)  -- a keyed hash over this entry and the chain of the one before
) strict;

-- What the oldest entry is chained to, once there have been older ones.
create table audit_start (
    id integer primary key check (id = 1),
    number integer not null,
    chain blob not null,
    seal blob not null                  -- a keyed hash over both
) strict;

insert into audit_start (id, number, chain, seal) values (1, 0, x'', x'');

-- Sealing an entry anew, with another key, is no change of it.
create trigger audit_is_not_changed before update of number, at, chain on audit begin
    select raise(abort, 'an entry of the audit is never changed');
end;

create trigger audit_is_not_deleted before delete on audit
when old.number > (select number from audit_start) begin
    select raise(abort, 'an entry of the audit is deleted only from the oldest on');
end;

-- What each user has stored, counted with each change, so that a post need not: a row that many posts of one transaction
-- share.
create table usage (
    user_id integer primary key,        -- the sender, as long as there is such a user
    notifications integer not null,     -- those that are there, recalled ones included
    bytes integer not null              -- of their payloads, sealed
) strict;

create trigger usage_grows after insert on notification begin
    insert into usage (user_id, notifications, bytes) values (new.sender_id, 1, coalesce(length(new.payload), 0))
        on conflict (user_id) do update set notifications = notifications + 1, bytes = bytes + excluded.bytes;
end;

create trigger usage_changes after update of payload on notification
when coalesce(length(new.payload), 0) <> coalesce(length(old.payload), 0) begin
    update usage set bytes = bytes + coalesce(length(new.payload), 0) - coalesce(length(old.payload), 0)
        where user_id = new.sender_id;
end;

create trigger usage_shrinks after delete on notification begin
    update usage set notifications = notifications - 1, bytes = bytes - coalesce(length(old.payload), 0)
        where user_id = old.sender_id;
end;

create trigger usage_ends_with_user after delete on user begin
    delete from usage where user_id = old.id;
end;
