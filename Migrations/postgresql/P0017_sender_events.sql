-- Finds the events of a publisher in the order of their numbers.
drop index event_by_sender;
create index event_by_sender on event (sender_id, number) where sender_id is not null;
