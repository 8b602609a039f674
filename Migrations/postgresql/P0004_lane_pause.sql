-- Pauses that processes are in together, since a provider fails or asks for a rest. One of them sends the probe for all.

create table lane_pause (
    lane text primary key,
    number bigint not null,             -- one more with each change
    cause text not null,                -- as the log has it
    reason text not null,               -- the provider's words
    since bigint not null,              -- by the database's clock
    until bigint not null,              -- by the database's clock; then one push goes as a probe
    rests bigint not null,              -- how many have followed each other; they become longer
    is_over boolean not null,           -- the provider has answered since
    process bigint not null,            -- which has told
    prober bigint,                      -- the node that sends the probe; null: none
    probe_until bigint                  -- then another one may
) with (fillfactor = 50);
