-- Lanes that all servers have paused, because the provider fails or asks for a pause. One server
-- sends the probe for all.

create table lane_pause (
    lane text primary key,
    number bigint not null,             -- raised by each change
    cause text not null,                -- as in the log
    reason text not null,               -- the provider's reason
    since bigint not null,              -- by the database's clock
    until bigint not null,              -- by the database's clock; then one server sends a probe
    rests bigint not null,              -- how many pauses have followed each other; each is longer than the one before
    is_over boolean not null,           -- true: the provider has answered since
    process bigint not null,            -- the server that wrote the row
    prober bigint,                      -- the server that sends the probe; null: none
    probe_until bigint                  -- when another server may send the probe
) with (fillfactor = 50);
