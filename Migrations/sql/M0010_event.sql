-- What became of pushes, fetches and devices, for the operator's receiver and `GET /api/events`.
-- If events are configured, temporary triggers of the writing connection add rows
-- (EventTriggers.swift). Cleanup deletes them by age.
create table event (
    number integer primary key,         -- one more than the last; not reused, as the newest row is never deleted
    at integer not null,
    kind integer not null check (kind between 0 and 6),  -- 1 accepted, 2 failed, 3 expired, 4 cancelled, 5 fetched,
                                        -- 6 retired; 0: a server started, and events before it may be lost
    notification_id integer,            -- null for a device
    device integer,                     -- the device's number; null for a fetch. The row outlives the device
    user_id integer,                    -- the user of the device, or who fetched; the row outlives the user
    platform text,                      -- the name of the lane without a host
    sender_id integer,                  -- the notification's publisher
    reason text                         -- as in `delivery` and `device`
) strict;
-- Finds the events of a publisher's own notifications.
create index event_by_sender on event (sender_id) where sender_id is not null;
-- Finds the starts of servers, which are not counted as events.
create index event_by_start on event (kind) where kind = 0;
create table event_state (
    id integer primary key check (id = 1),
    delivered integer not null,         -- the last number that the receiver has acknowledged
    trimmed integer not null            -- the last number that was deleted by age
) strict;
insert into event_state (id, delivered, trimmed) values (1, 0, 0);
