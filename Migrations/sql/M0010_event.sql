-- What became of pushes, fetches and devices, for the operator's receiver and for `GET /api/events`. Rows come from temporary
-- triggers of the writing connection, and only if events are configured (EventTriggers.swift); they go by their age.
create table event (
    number integer primary key,         -- one more than the last; the newest is never deleted, so none is given out twice
    at integer not null,
    kind integer not null check (kind between 0 and 6),  -- 1 accepted, 2 failed, 3 expired, 4 cancelled, 5 collected,
                                        -- 6 retired; 0: no event, the start of a process, which leaves a gap before it
    notification_id integer,            -- null for a device
    device integer,                     -- its number; null for what was collected. The row outlives the device
    user_id integer,                    -- whose device it was, or who collected; the row outlives the user
    platform text,                      -- the lane without its host
    sender_id integer,                  -- of the notification
    reason text                         -- as in `delivery` and `device`
) strict;
-- A publisher reads the events of its own notifications along it.
create index event_by_sender on event (sender_id) where sender_id is not null;
-- The gaps, to count what lies between two numbers.
create index event_by_start on event (kind) where kind = 0;
create table event_state (
    id integer primary key check (id = 1),
    delivered integer not null,         -- the last number that the receiver has acknowledged
    trimmed integer not null            -- the last number that was deleted for its age
) strict;
insert into event_state (id, delivered, trimmed) values (1, 0, 0);
