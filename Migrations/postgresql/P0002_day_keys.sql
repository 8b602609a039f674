-- Day keys encrypt payloads. Their secret is in a file of each server and never in the database.

create table day_chain (
    id bigint primary key check (id = 1),
    day bigint not null,                -- days since 1970; far ahead, as each server can derive later secrets only
    check_value bytea not null check (length(check_value) = 16)  -- computed from that day's secret, to recognise it
);

-- The files that have had the secret, and the first day whose key each still has: for operators.
create table day_key_holder (
    place text collate "C" primary key, -- the machine and the file
    day bigint not null,                -- the first day whose key it has
    at bigint not null                  -- when the server reported that
);

-- Finds the read-once payloads, which the server encrypts again each day until they are fetched.
create index notification_by_reading_once on notification (id) where is_read_once and payload is not null;
