-- The user of a token issuer (signIn.oidc) whom the account belongs to: a keyed hash of issuer and subject. Null: nobody's yet.
alter table user add column issued_to blob check (length(issued_to) = 16);
-- When the newest token was issued that rights were taken from (iat); set together with issued_to.
alter table user add column issued_at integer;
-- The role that this token gave; null: the account's own.
alter table user add column issued_role text check (issued_role in ('device', 'publisher', 'admin'));
-- The apps that it gave: names with blanks in between; null: the account's own.
alter table user add column issued_apps text;
-- The scopes that it gave: names with blanks in between; null: the usual ones of the role.
alter table user add column issued_scopes text;
