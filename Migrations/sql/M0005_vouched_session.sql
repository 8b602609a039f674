-- 1: a client certificate or a trusted proxy signed the user in. The session is valid only in
-- requests that have one of them with the same user.
alter table token add column is_vouched integer not null default 0 check (is_vouched in (0, 1));
