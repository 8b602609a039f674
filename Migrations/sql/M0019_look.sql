-- The last look of the device, a push that tells it to sync: its notification, and when it was due; null: none.
alter table device add column look_id integer;
alter table device add column look_at integer;
