-- How far the looks for a recall have come, as in SQLite (M0022).
alter table notification add column look_user_id bigint;
create index notification_by_look on notification (look_user_id) where look_user_id is not null;
