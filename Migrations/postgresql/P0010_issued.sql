-- The user of a token issuer whom the account belongs to, and what the newest token gave; as in SQLite (M0016).
alter table account
    add column issued_to bytea check (length(issued_to) = 16),  -- a keyed hash of issuer and subject; null: nobody's yet
    add column issued_at bigint,        -- when the newest token was issued that rights were taken from (iat)
    add column issued_role text check (issued_role in ('device', 'publisher', 'admin')),  -- null: the account's own
    add column issued_apps text,        -- names with blanks in between; null: the account's own
    add column issued_scopes text;      -- names with blanks in between; null: the usual ones of the role
