-- The prefix of the session that last registered the device; null: a password, another token, or a
-- registration from before this migration. If somebody ends the session, its devices are retired.
-- If it expires, they stay and keep its prefix.
alter table device add column session text;
