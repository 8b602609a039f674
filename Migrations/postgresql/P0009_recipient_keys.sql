-- A recipient is looked up by its whole key. Where each notification has one recipient, or each user one notification, the planner
-- takes one of the two columns for enough, and then reads all recipients of the next broadcast, or all notifications of its user.
alter table recipient alter column notification_id set (n_distinct = -0.01), alter column user_id set (n_distinct = -0.01);
analyze recipient;
