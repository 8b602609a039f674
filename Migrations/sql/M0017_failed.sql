-- Finds the failed pushes of all notifications, the newest first. It has no other pushes.
create index delivery_by_failure on delivery (settled_at, notification_id, device) where state = 'failed';
