-- These columns have a keyed hash (truncated HMAC-SHA-256). Elsewhere "seal" stood for encryption.

alter table token rename column seal to mac;
alter table recipient rename column seal to mac;
alter table audit_start rename column seal to mac;
