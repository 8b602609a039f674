-- The last recipient of a recall whose devices have their looks; 0: no recipient; null: all, or no recall.
alter table notification add column look_user_id integer;
create index notification_by_look on notification (look_user_id) where look_user_id is not null;
