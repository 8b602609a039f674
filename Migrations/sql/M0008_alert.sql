-- What the pushes of a notification show in place of their sender's constants, as sealed JSON; null: those constants. It is erased
-- together with the payload.
alter table notification add column alert blob;
