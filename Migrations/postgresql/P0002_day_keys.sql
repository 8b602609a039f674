-- Payloads are sealed with keys of days, whose secret is in a file of each server and never here.

create table day_chain (
    id bigint primary key check (id = 1),
    day bigint not null,                -- the days since 1970; far ahead, so that each server's keys lead there
    check_value bytea not null check (length(check_value) = 16)  -- made of the secret of that day; recognises it
);

-- The files that have had the secret, and how far each has destroyed: for operators.
create table day_key_holder (
    place text collate "C" primary key, -- the machine and the file
    day bigint not null,                -- the first day whose key it has
    at bigint not null                  -- when it said so
);

-- What is sealed anew each day as long as nobody has taken it.
create index notification_by_reading_once on notification (id) where is_read_once and payload is not null;
