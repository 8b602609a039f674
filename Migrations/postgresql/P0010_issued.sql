-- The issuer's identity of a user, and the rights from the newest token, as in SQLite (M0016).
alter table account
    add column issued_to bytea check (length(issued_to) = 16),  -- a keyed hash of issuer and subject; null: not linked
    add column issued_at bigint,        -- the `iat` of the newest token that has set the user's rights
    add column issued_role text check (issued_role in ('device', 'publisher', 'admin')),  -- null: the user's own
    add column issued_apps text,        -- names separated by spaces; null: the user's own
    add column issued_scopes text;      -- names separated by spaces; null: the default scopes of the role
