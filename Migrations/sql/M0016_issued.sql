-- A keyed hash of issuer and subject, for a user of a token issuer (signIn.oidc); null: not
-- linked.
alter table user add column issued_to blob check (length(issued_to) = 16);
-- The `iat` of the newest token that has set the user's rights; set together with issued_to.
alter table user add column issued_at integer;
-- The role from that token; null: the user's own.
alter table user add column issued_role text check (issued_role in ('device', 'publisher', 'admin'));
-- The apps from that token: names separated by spaces; null: the user's own.
alter table user add column issued_apps text;
-- The scopes from that token: names separated by spaces; null: the default scopes of the role.
alter table user add column issued_scopes text;
