-- A device may have event streams at several processes. One of them sends its pushes, and the others repeat what it has sent.

alter table stream add column is_shared boolean not null default false;  -- another process has one of the device's, too

create index stream_by_sharing on stream (node) where is_shared;
