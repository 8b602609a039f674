-- A lease writes a new version of each row. If the page has room for it, PostgreSQL leaves the
-- indexes unchanged.
alter table push set (fillfactor = 45);
