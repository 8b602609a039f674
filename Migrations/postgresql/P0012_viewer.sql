-- The role 'viewer', as in SQLite (M0018).
alter table account
    drop constraint account_role_check,
    add constraint account_role_check check (role in ('device', 'viewer', 'publisher', 'admin')),
    drop constraint account_issued_role_check,
    add constraint account_issued_role_check check (issued_role in ('device', 'viewer', 'publisher', 'admin'));
