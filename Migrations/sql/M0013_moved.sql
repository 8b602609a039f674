-- With a row, the whole database was moved to another one, and no server opens it any more.
create table moved (
    id integer primary key check (id = 1),
    at integer not null,
    place text not null                 -- the address of the other database, without a password
) strict;
