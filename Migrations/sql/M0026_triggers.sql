-- The transactions that change a password or delete a user end the sessions and the parked pushes
-- themselves.
drop trigger session_ends_with_password;
drop trigger parking_ends_with_user;
