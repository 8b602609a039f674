-- The public keys of a device for end-to-end encryption, as the device has written them, with the approvals of the account's
-- other devices; null: it has none.
alter table device add column encryption_key text;
