-- The texts that a device shows for the notification's pushes: encrypted JSON, erased with the
-- payload; null: the texts in the sender's configuration.
alter table notification add column alert blob;
