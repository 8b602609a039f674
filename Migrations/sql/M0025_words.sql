-- The words of the PostgreSQL schema. The indexes keep their names, since SQLite would read all
-- rows to create them again.
alter table user rename to account;
alter table delivery rename to push;
alter table audit rename column chain to link;
alter table audit_start rename column chain to link;
