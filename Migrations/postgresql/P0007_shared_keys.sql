-- No server encrypts with a data key that another one lacks, so each server reports its keys: a
-- number of 4 bytes and a check value for each, the encrypting key first. Null: an older version,
-- which reports none. Empty: a command, whose keys no server waits for.
alter table node add column keys bytea;
