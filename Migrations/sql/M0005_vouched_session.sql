-- 1: the session began by a client certificate or a trusted proxy, and is valid only together with one that names its user.
alter table token add column is_vouched integer not null default 0 check (is_vouched in (0, 1));
