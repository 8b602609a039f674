-- Scheduled notifications. They have neither recipients nor pushes before their release; the row
-- has their audience.
create table scheduled (
    notification_id integer primary key references notification (id) on delete cascade,
    due_at integer not null,            -- when it is released
    sequence integer not null,          -- its place among notifications with the same time: the order of their posts
    expressions blob not null,          -- encrypted JSON: the tag expressions
    platforms text,                     -- JSON: names of platforms; null: all
    is_set_aside integer not null default 0 check (is_set_aside in (0, 1))  -- 1: unreadable, so never released
) strict;

-- Finds the next release, and counts all scheduled notifications.
create index scheduled_by_due on scheduled (is_set_aside, due_at, sequence);
