-- Times are milliseconds since 1970, UTC. Encrypted values are bound to their table, row and
-- column. A keyed hash is HMAC-SHA-256, cut to 16 bytes unless the column has another length.
-- docs/stolen-database.md says what a thief of this file can read.

-- The data keys that may have encrypted a value, by number. The keys are in the keyring file.
create table data_key (
    number integer primary key check (number > 0),
    check_value blob not null check (length(check_value) = 16),  -- computed from the key, to recognise it
    used_at integer not null,           -- when a server first used it
    seals integer not null default 0    -- how many values it has encrypted; too few after a crash
) strict;

-- The secret. The server derives the keys of all keyed hashes from it.
create table index_secret (
    id integer primary key check (id = 1),
    secret blob not null                -- encrypted
) strict;

create table user (
    id integer primary key autoincrement,  -- not reused
    name blob not null,                 -- encrypted; as it was first written
    name_key blob not null unique check (length(name_key) = 16),  -- a keyed hash of its lower-case form
    role text not null check (role in ('device', 'publisher', 'admin')),
    password text not null,             -- Argon2id, PHC string format
    password_number integer not null default 1,  -- raised by each change of the password
    created_at integer not null,
    disabled_at integer                 -- set: refused like an unknown user until it is null again
) strict;

create table token (
    hash blob primary key check (length(hash) = 32),  -- SHA-256; the token itself is not stored
    prefix text not null unique,        -- its first characters, which lists show
    user_id integer not null references user (id) on delete cascade,
    is_session integer not null check (is_session in (0, 1)),  -- 1: made by a sign-in; 0: by an administrator
    scopes text not null,               -- names separated by spaces
    created_at integer not null,
    expires_at integer not null,
    used_at integer,                    -- approximate, and written late
    seal integer not null               -- a keyed hash of the hash and the user
) strict, without rowid;

create index token_by_user on token (user_id, created_at);
create index token_by_expiry on token (expires_at);

-- A new password ends the user's sessions; tokens that an administrator made stay. Rehashing the
-- same password leaves its number unchanged.
create trigger session_ends_with_password after update of password_number on user begin
    delete from token where user_id = new.id and is_session;
end;

create table device (
    number integer primary key autoincrement,  -- the device's number in the outbox; not reused
    id text not null unique,            -- the registration id
    user_id integer not null references user (id) on delete cascade,
    platform text,                      -- the name of the sender; null until the device has registered
    lane text,                          -- the lane of its pushes
    handle blob,                        -- encrypted; set if and only if `platform` is
    handle_key blob check (length(handle_key) = 16),  -- a keyed hash of the handle
    tags blob,                          -- encrypted JSON: all tags
    created_at integer not null,
    registered_at integer not null,     -- when the device last registered its handle
    retired_at integer,                 -- set: a tombstone whose handle is erased
    retired_reason text,
    check ((platform is null) = (lane is null)),
    check ((platform is null) = (handle is null)),
    check ((platform is null) = (handle_key is null)),
    check ((platform is null) = (tags is null)),
    check ((retired_at is null) = (retired_reason is null)),
    check (retired_at is null or platform is null)
) strict;

-- A handle belongs to at most one registration that is not retired.
create unique index device_by_handle on device (platform, handle_key) where handle_key is not null;
create index device_by_user on device (user_id, created_at);
create index device_by_retirement on device (user_id, retired_at) where retired_at is not null;

create table device_tag (
    device integer not null references device (number) on delete cascade,
    tag blob not null check (length(tag) = 16),  -- a keyed hash of its lower-case form
    primary key (device, tag)
) strict, without rowid;

-- A fan-out reads this index page by page.
create index device_tag_by_tag on device_tag (tag, device);

-- A table of its own, because each accepted push writes it.
create table device_push (
    device integer primary key,         -- the device's number
    accepted_at integer not null        -- when a provider last accepted a push to the device
) strict;

create table notification (
    id integer primary key check (id > 0),  -- random; each push carries it
    sender_id integer not null,         -- the publisher; the row outlives that user
    is_stored_by_clients integer not null check (is_stored_by_clients in (0, 1)),  -- 0: Cache-Control: no-store
    is_read_once integer not null check (is_read_once in (0, 1)),
    priority text not null check (priority in ('normal', 'high')),
    collapse_id text,                   -- a keyed hash of the publisher and its collapse key
    sequence integer not null default 0,  -- its place in the order of posts
    seed integer not null,              -- random; the ids of the pushes are computed from it
    created_at integer not null,
    expires_at integer not null,
    recalled_at integer,                -- when its publisher or an administrator recalled it
    recall_change integer,              -- the number of the recall's change, if its many recipients do not have it
    payload blob                        -- encrypted JSON text, bound to id and sender; null once erased. The last
                                        -- column, so that SQLite reads the others without a long payload's pages
) strict;

create index notification_by_expiry on notification (expires_at);
create index notification_by_recall on notification (recall_change) where recall_change is not null;

create table recipient (
    notification_id integer not null references notification (id) on delete cascade,
    user_id integer not null references user (id) on delete cascade,
    fetched_at integer,                 -- when the recipient first fetched the payload: the receipt
    read_at integer,                    -- when the client reported it as read
    dismissed_at integer,               -- when the user dismissed it or fetched it as read-once; set: not in lists
    change integer not null,            -- the number of the last change that the user sees
    changed_at integer not null,        -- the time of that change
    seal integer not null,              -- a keyed hash of notification and user
    primary key (notification_id, user_id)
) strict, without rowid;

-- Lists of notifications read this index.
create unique index recipient_by_user on recipient (user_id, change);

-- Changes of all users are numbered in one rising sequence. The store may have used each number
-- below `reserved`.
create table change_number (
    id integer primary key check (id = 1),
    reserved integer not null
) strict;

-- The recipients who have not yet fetched a read-once payload. The payload is erased with the last
-- of these rows.
create table untaken (
    notification_id integer not null,
    user_id integer not null,
    primary key (notification_id, user_id),
    foreign key (notification_id, user_id) references recipient on delete cascade
) strict, without rowid;

-- The outbox: one row for each push to a device. A post writes its first pushes in the same
-- transaction as the notification.
create table delivery (
    notification_id integer not null references notification (id) on delete cascade,
    device integer not null,            -- the device's number; the row outlives the device
    user_id integer not null,           -- the user of the device
    lane text not null,                 -- the lane of the device, so that each lane finds its pushes
    is_bulk integer not null check (is_bulk in (0, 1)),  -- 1: of a broadcast, which other pushes may overtake
    state text not null check (state in ('queued', 'sending', 'accepted', 'expired', 'failed', 'cancelled')),
    attempts integer not null default 0,
    due_at integer,                     -- queued: when the push may be sent; null: parked until its device connects.
                                        -- sending: leased by the server that has opened the database
    is_withdrawn integer not null default 0 check (is_withdrawn in (0, 1)),  -- 1: being sent, and not retried
    settled_at integer,                 -- set: the row does not change any more
    reason text,                        -- the provider's last reason for a refusal, or why the push waits
    provider_id text,                   -- the provider's id for the accepted push; 'stream' for an event stream
    primary key (notification_id, device),
    check ((settled_at is null) = (state in ('queued', 'sending'))),
    check (due_at is not null or state <> 'sending')
) strict, without rowid;

-- Neither of these two indexes has parked pushes: see `parking`.
create index delivery_by_due on delivery (lane, is_bulk, due_at) where state = 'queued' and due_at is not null;
create index delivery_by_device on delivery (device) where settled_at is null and due_at is not null;
-- The pushes that the last server had leased when it ended.
create index delivery_by_lease on delivery (state) where state = 'sending';
-- The pushes that the previous stream of a device may have lost.
create index delivery_by_stream on delivery (device, settled_at) where provider_id = 'stream';

-- The number of a change of the user's notifications; all parked pushes of the device belong to
-- later changes. The store finds them with `recipient_by_user`: an index of parked pushes would
-- make each post to an absent device write two more pages.
create table parking (
    device integer primary key,         -- the device's number
    change integer not null             -- of the recipient's row
) strict;

-- The newest notification to a device with each collapse key. The next one replaces it.
create table collapse (
    device integer not null,            -- the device's number
    collapse_id text not null,          -- of the notification
    notification_id integer not null,
    sequence integer not null,          -- of the notification
    primary key (device, collapse_id)
) strict, without rowid;

-- Posts with an Idempotency-Key, for a day. A repeated post makes no second notification.
create table idempotency (
    key blob primary key check (length(key) = 16),  -- a keyed hash of the user, the route and the key
    request blob not null check (length(request) = 16),  -- a keyed hash of query and body
    notification_id integer not null,   -- may have been deleted
    created_at integer not null,        -- of the notification
    expires_at integer not null         -- of the notification
) strict, without rowid;

create index idempotency_by_creation on idempotency (created_at);

-- Broadcasts whose fan-out has not found all devices yet.
create table fanout (
    notification_id integer primary key references notification (id) on delete cascade,
    expressions blob not null,          -- encrypted JSON: the tag expressions
    platforms text,                     -- JSON: names of platforms; null: all
    branch integer not null,            -- the index of the tag whose devices it reads
    cursor integer not null,            -- the number of the last device that it has read
    is_set_aside integer not null default 0 check (is_set_aside in (0, 1))  -- 1: unreadable; the fan-out has stopped
) strict;

-- How many pushes have ever entered each state, including deleted ones.
create table tally (
    lane text not null,
    state text not null check (state in ('enqueued', 'accepted', 'expired', 'failed', 'cancelled')),
    count integer not null,
    primary key (lane, state)
) strict, without rowid;

-- Counts and cancels the pushes of a deleted device, after each kind of `delete`.
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

-- Makes the user's parked pushes due before the rows that find them are deleted.
create trigger parking_ends_with_user before delete on user begin
    update delivery set due_at = 0 where due_at is null and settled_at is null and user_id = old.id
        and notification_id in (select notification_id from recipient where user_id = old.id);
end;

-- The audit: who did what. The server adds entries and deletes the oldest; it changes none.
create table audit (
    number integer primary key,         -- counted from 1, without gaps
    at integer not null,
    entry blob not null,                -- encrypted text
    chain blob not null check (length(chain) = 32)  -- a keyed hash of this entry and of the previous entry's `chain`
) strict;

-- The last deleted entry, which the oldest entry is chained to.
create table audit_start (
    id integer primary key check (id = 1),
    number integer not null,
    chain blob not null,
    seal blob not null                  -- a keyed hash of both
) strict;

insert into audit_start (id, number, chain, seal) values (1, 0, x'', x'');

-- The trigger allows encrypting `entry` again with another key.
create trigger audit_is_not_changed before update of number, at, chain on audit begin
    select raise(abort, 'an entry of the audit is never changed');
end;

create trigger audit_is_not_deleted before delete on audit
when old.number > (select number from audit_start) begin
    select raise(abort, 'an entry of the audit is deleted only from the oldest on');
end;

-- The storage that each user occupies. Triggers count each change, so a post need not count rows.
create table usage (
    user_id integer primary key,        -- the publisher; the row is deleted with that user
    notifications integer not null,     -- the number of stored notifications, including recalled ones
    bytes integer not null              -- the size of their encrypted payloads
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
