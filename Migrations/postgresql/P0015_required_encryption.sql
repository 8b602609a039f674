-- Whether the user gets end-to-end payloads only, and whether a payload is one, as in SQLite (M0021).
alter table account add column requires_encryption boolean not null default false;
alter table notification add column is_end_to_end boolean not null default false;
