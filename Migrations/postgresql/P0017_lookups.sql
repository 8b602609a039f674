-- Finds the events of a publisher in the order of their numbers.
drop index event_by_sender;
create index event_by_sender on event (sender_id, number) where sender_id is not null;
-- Finds claims by their age only. With the condition `claims_for is not null`, PostgreSQL also used
-- this index to find the claim of a device, and read all claims.
drop index device_by_claim_time;
create index device_by_claim_time on device (registered_at) where claims_for > 0;
