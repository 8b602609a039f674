-- A "seal" is an encrypted value everywhere else; these columns hold a keyed hash (HMAC-SHA-256, truncated).

alter table token rename column seal to mac;
alter table recipient rename column seal to mac;
alter table audit_start rename column seal to mac;
