-- No process seals with a data key that another one lacks, so each tells which it has.
alter table node add column keys bytea;  -- a number of 4 bytes and a check value for each data key, the first one first; null: of an older version, which does not tell; empty: a command, for which nobody waits
