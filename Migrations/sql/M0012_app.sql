-- The app that a notification is of; null: the usual one.
alter table notification add column app text;
-- The apps that a user belongs to, with blanks in between; null: the usual one only.
alter table user add column apps text;
