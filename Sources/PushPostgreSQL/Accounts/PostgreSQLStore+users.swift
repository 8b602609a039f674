package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func addUser(
        _ name: Username,
        role: Role,
        apps: Set<AppName>,
        password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write { [sealing] tx in
            let inserted = try await tx.query(
                Self.insertUser,
                sealing.index.hash(name),
                role.rawValue,
                apps.stored,
                password.phc,
                now.milliseconds
            )
            guard let id = try inserted.first?.integer(0) else { return false }
            _ = try await tx.query(Self.nameUser, id, try sealing.seal(name.description, in: .username(id)))
            if let record { tx.append(record) }
            return true
        }
    }

    /// Leaves the name empty: it is encrypted for the id, which the insert assigns. The condition
    /// keeps a taken name from consuming an id.
    private static let insertUser = """
        insert into account (name, name_key, role, apps, password, created_at)
        select ''::bytea, $1, $2, $3, $4, $5 where not exists (select 1 from account where name_key = $1)
        on conflict (name_key) do nothing returning id
        """

    /// Creates the counter with the user, because `makeDue` locks it.
    private static let nameUser = """
        with counter as (insert into user_change (user_id, change) values ($1, 0))
        update account set name = $2 where id = $1
        """

    package func changeUser(
        _ name: Username,
        role: Role?,
        apps: Set<AppName>?,
        password: PasswordHash?,
        isDisabled: Bool?,
        issued: IssuedToken?,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange {
        try await self.write { [sealing] tx in
            let isLosing = (role ?? .admin) != .admin || isDisabled == true
            let key = sealing.index.hash(name)
            guard let account = try await LockedAccount(tx, key, isLosing: isLosing) else { return .missing }
            if let issued {
                let stored = try await tx.query(PostgreSQLReader.issuedAccount, account.id).first.flatMap {
                    try IssuedAccount($0)
                }
                guard issued.isOfOwner(of: stored), !issued.isOlder(than: stored) else { return .missing }
                // A newer token with the same rights as the last one ends nothing.
                let isNews = role != nil || apps != nil || stored?.rights != issued.account.rights
                if !isNews, password == nil, isDisabled == nil {
                    try await Self.set(issued.account, ofUser: account.id, tx)
                    if let record { tx.append(record) }
                    return .done
                }
            }
            if account.isLastAdministrator { return .lastAdministrator }
            if let issued { try await Self.set(issued.account, ofUser: account.id, tx) }
            _ = try await tx.query(
                Self.changeUser,
                account.id,
                role?.rawValue,
                isDisabled,
                now.milliseconds,
                apps != nil,
                apps?.stored,
                password?.phc
            )
            if account.rights?.gains(role, apps) ?? true || password != nil {
                let sessions = try await tx.query(Self.endSessions, account.id).map { try $0.text(0) }
                // A user who gains rights is still the same person on the same devices.
                if password != nil {
                    try await Self.retireDevices(tx, ofUser: account.id, with: sessions, by: record, now: now)
                }
            }
            if let apps {
                let devices = try await tx.query(Self.devicesWithHandle, account.id).map(EndingDevice.init)
                try await Self.write(DeviceEnds(of: devices, outside: apps), ofUser: account.id, tx, now: now)
            }
            tx.end(.user(account.id))
            if let record { tx.append(record) }
            return .done
        }
    }

    private static let changeUser = """
        update account set role = coalesce($2, role),
            disabled_at = case when $3 then coalesce(disabled_at, $4) when not $3 then null else disabled_at end,
            apps = case when $5 then $6 else apps end,
            password = coalesce($7, password),
            password_number = password_number + case when $7 is null then 0 else 1 end,
            version = version + 1
        where id = $1
        """
    private static func set(_ issued: IssuedAccount, ofUser id: Int64, _ tx: WriteTransaction) async throws {
        _ = try await tx.query(
            Self.setIssued,
            id,
            issued.owner,
            issued.issuedAt.milliseconds,
            issued.rights.role?.rawValue,
            issued.storedApps,
            issued.rights.scopes?.description
        )
    }

    private static let setIssued = """
        update account set issued_to = $2, issued_at = $3, issued_role = $4, issued_apps = $5, issued_scopes = $6
        where id = $1
        """
    static let endSessions = "delete from token where is_session and user_id = $1 returning prefix"

    private static let devicesWithHandle = """
        \(EndingDevice.select)
        where user_id = $1 and platform is not null order by number for update
        """
}
