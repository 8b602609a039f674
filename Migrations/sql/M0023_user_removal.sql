-- The trigger looks up the pushes of the user's devices. Before, it read all pushes of each
-- notification to the user: the deletion of a user read each broadcast whole.
drop trigger parking_ends_with_user;
create trigger parking_ends_with_user before delete on user begin
    update delivery set due_at = 0 where due_at is null and settled_at is null
        and device in (select number from device where user_id = old.id)
        and notification_id in (select notification_id from recipient where user_id = old.id);
end;
