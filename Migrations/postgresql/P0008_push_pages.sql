-- A lease writes each row of push anew. Where the page has room for it, no index changes.
alter table push set (fillfactor = 45);
