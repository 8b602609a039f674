-- The app that a notification belongs to; null: the default app.
alter table notification add column app text;
-- The apps that a user belongs to, separated by spaces; null: only the default app.
alter table user add column apps text;
