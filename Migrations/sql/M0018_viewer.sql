-- The role 'viewer'. SQLite cannot change a check, so the migration copies the table, with all its columns.
create table rebuilt_user (
    id integer primary key autoincrement,  -- never given out twice
    name blob not null,                 -- encrypted; as it was first written
    name_key blob not null unique check (length(name_key) = 16),  -- a keyed hash of it in lower case
    role text not null check (role in ('device', 'viewer', 'publisher', 'admin')),
    password text not null,             -- Argon2id, PHC string format
    password_number integer not null default 1,  -- one more with each change of the password
    created_at integer not null,
    disabled_at integer,                -- set: refused like an unknown user until it is null again
    tags blob,                          -- encrypted: JSON, all tags that the user was given; null without any
    apps text,                          -- names with blanks in between; null: the usual one only
    issued_to blob check (length(issued_to) = 16),  -- the owner at the token issuer: a keyed hash; null: none yet
    issued_at integer,                  -- when the newest token was issued that rights were taken from (iat)
    issued_role text check (issued_role in ('device', 'viewer', 'publisher', 'admin')),  -- its role; null: the account's
    issued_apps text,                   -- its apps, with blanks in between; null: the account's own
    issued_scopes text                  -- its scopes, with blanks in between; null: the usual ones of the role
) strict;

insert into rebuilt_user
    (id, name, name_key, role, password, password_number, created_at, disabled_at, tags, apps, issued_to, issued_at,
        issued_role, issued_apps, issued_scopes)
    select id, name, name_key, role, password, password_number, created_at, disabled_at, tags, apps, issued_to, issued_at,
        issued_role, issued_apps, issued_scopes
    from user;

-- No id of a deleted user is given out again.
delete from sqlite_sequence where name = 'rebuilt_user';
insert into sqlite_sequence (name, seq) select 'rebuilt_user', seq from sqlite_sequence where name = 'user';

-- The triggers on the table end with it.
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
