-- A notification that is sent at a later time. Until then it has neither recipients nor pushes, and the row has its audience.
create table scheduled (
    notification_id integer primary key references notification (id) on delete cascade,
    due_at integer not null,            -- when it is sent
    sequence integer not null,          -- its place among those that are due at the same time: the order of their posts
    expressions blob not null,          -- sealed: JSON, the tag expressions
    platforms text,                     -- JSON: their names; null: all
    is_set_aside integer not null default 0 check (is_set_aside in (0, 1))  -- 1: it cannot be read, and is not sent
) strict;

-- What is due next. Also counts all of them.
create index scheduled_by_due on scheduled (is_set_aside, due_at, sequence);
