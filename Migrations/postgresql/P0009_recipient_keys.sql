-- Queries find a recipient by both columns of its key. If most notifications have one recipient,
-- or most users one notification, the planner believes that one column is enough. It would then
-- read all recipients of a broadcast, or all notifications of a user.
alter table recipient alter column notification_id set (n_distinct = -0.01), alter column user_id set (n_distinct = -0.01);
analyze recipient;
