-- The public keys of a device for end-to-end encryption, as in SQLite (M0020).
alter table device add column encryption_key text;
