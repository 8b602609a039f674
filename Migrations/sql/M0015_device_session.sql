-- The prefix of the session that the device was last registered with; null: a password, another token, or a registration of before.
-- A session that somebody ends takes its devices along. One that is gone otherwise is named here on, and by nothing else.
alter table device add column session text;
