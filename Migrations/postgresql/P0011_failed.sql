-- Finds the failed pushes of all notifications, the newest first, as in SQLite (M0017).
create index push_end_by_failure on push_end (settled_at, notification_id, device) where state = 'failed';
