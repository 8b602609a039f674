-- Set: all of the database was moved to another one, and no server opens it any more.
create table moved (
    id integer primary key check (id = 1),
    at integer not null,
    place text not null                 -- the other one's address, without a password
) strict;
