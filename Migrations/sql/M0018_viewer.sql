-- The role 'viewer'. SQLite cannot change a check, so the migration copies the table, with all its
-- columns.
create table rebuilt_user (
    id integer primary key autoincrement,  -- not reused
    name blob not null,                 -- encrypted; as it was first written
    name_key blob not null unique check (length(name_key) = 16),  -- a keyed hash of its lower-case form
    role text not null check (role in ('device', 'viewer', 'publisher', 'admin')),
    password text not null,             -- Argon2id, PHC string format
    password_number integer not null default 1,  -- raised by each change of the password
    created_at integer not null,
    disabled_at integer,                -- set: refused like an unknown user until it is null again
    tags blob,                          -- encrypted JSON: all tags given to the user; null: no tags
    apps text,                          -- names separated by spaces; null: only the default app
    issued_to blob check (length(issued_to) = 16),  -- a keyed hash of issuer and subject; null: not linked
    issued_at integer,                  -- the `iat` of the newest token that has set the user's rights
    issued_role text check (issued_role in ('device', 'viewer', 'publisher', 'admin')),  -- its role; null: `role`
    issued_apps text,                   -- its apps, separated by spaces; null: the user's own
    issued_scopes text                  -- its scopes, separated by spaces; null: the role's default scopes
) strict;

insert into rebuilt_user
    (id, name, name_key, role, password, password_number, created_at, disabled_at, tags, apps, issued_to, issued_at,
        issued_role, issued_apps, issued_scopes)
    select id, name, name_key, role, password, password_number, created_at, disabled_at, tags, apps, issued_to, issued_at,
        issued_role, issued_apps, issued_scopes
    from user;

-- No new user gets the id of a deleted one.
delete from sqlite_sequence where name = 'rebuilt_user';
insert into sqlite_sequence (name, seq) select 'rebuilt_user', seq from sqlite_sequence where name = 'user';

-- SQLite drops the triggers of a dropped table.
drop table user;
alter table rebuilt_user rename to user;

create trigger session_ends_with_password after update of password_number on user begin
    delete from token where user_id = new.id and is_session;
end;

create trigger parking_ends_with_user before delete on user begin
    update delivery set due_at = 0 where due_at is null and settled_at is null and user_id = old.id
        and notification_id in (select notification_id from recipient where user_id = old.id);
end;

create trigger usage_ends_with_user after delete on user begin
    delete from usage where user_id = old.id;
end;
