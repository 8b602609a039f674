-- The failed pushes of all notifications, the newest first; a row is in it only once its push has failed.
create index delivery_by_failure on delivery (settled_at, notification_id, device) where state = 'failed';
