-- A device may have event streams at several servers. One server sends the device's pushes;
-- the others repeat them on their streams.

alter table stream add column is_shared boolean not null default false;  -- true: another server has a stream, too

create index stream_by_sharing on stream (node) where is_shared;
