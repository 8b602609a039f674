-- Finds the enabled administrators without reading all users.
create index user_by_administration on user (role) where role = 'admin' and disabled_at is null;
