package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addUser(
        _ name: Username,
        role: Role,
        apps: Set<AppName>,
        password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [sealing] db in
            // The id is read first, because the name is encrypted for it; there is no other
            // writer.
            let id = try Int64.fetchOne(db, sql: "select seq + 1 from sqlite_sequence where name = 'user'") ?? 1
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, apps, password, created_at) values (?, ?, ?, ?, ?, ?, ?)
                    on conflict (name_key) do nothing
                    """,
                arguments: [
                    id, try sealing.seal(name.description, in: .username(id)), sealing.index.hash(name), role.rawValue,
                    apps.stored, password.phc, now.milliseconds,
                ]
            )
            return db.changesCount == 1
        }
    }

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
        try await self.write { [writer, sealing] db in
            let key = sealing.index.hash(name)
            if let issued, let stored = try Self.issuedAccount(key, db) {
                guard issued.isOfOwner(of: stored), !issued.isOlder(than: stored) else { return .missing }
            }
            let staysAdministrator = (role ?? .admin) == .admin && isDisabled != true
            if !staysAdministrator, try Self.isLastAdministrator(key, db) { return .lastAdministrator }
            // The query needs the sessions that end below.
            let devices =
                try password == nil ? [] : db.all(prepared: Self.devicesOfSessions, key, decode: EndingDevice.init)
            let old = try db.first(prepared: "select role, apps from user where name_key = ?", key) {
                AccountRights(storedRole: $0.text(0), storedApps: $0.optionalText(1))
            }
            if old??.gains(role, apps) ?? true {
                try db.run(
                    prepared: """
                        delete from token where is_session and user_id = (select id from user where name_key = ?)
                        """,
                    key
                )
            }
            try db.execute(
                sql: """
                    update user set role = coalesce(?2, role),
                        disabled_at = case ?3 when 1 then coalesce(disabled_at, ?4) when 0 then null else disabled_at end
                    where name_key = ?1
                    """,
                arguments: [key, role?.rawValue, isDisabled, now.milliseconds]
            )
            guard db.changesCount == 1 else { return .missing }
            if apps != nil { writer.recordErasure() }
            if let apps {
                try db.run(prepared: "update user set apps = ? where name_key = ?", apps.stored, key)
                let devices = try db.all(prepared: Self.devicesWithHandle, key, decode: EndingDevice.init)
                try self.write(DeviceEnds(of: devices, outside: apps), db, now: now)
            }
            if let issued { try Self.set(issued.account, ofUser: key, db) }
            if let password {
                try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
                try db.execute(
                    sql: "update user set password = ?, password_number = password_number + 1 where name_key = ?",
                    arguments: [password.phc, key]
                )
                writer.recordErasure()
            }
            return .done
        } recording: {
            $0 == .done ? record : nil
        }
    }

    package func deleteUser(_ name: Username, by record: AuditRecord?) async throws -> UserChange {
        try await self.write { [writer, sealing] db in
            let key = sealing.index.hash(name)
            if try Self.isLastAdministrator(key, db) { return .lastAdministrator }
            let found = try db.first(prepared: "select id from user where name_key = ?", key) { $0.integer(0) }
            guard let id = found else { return .missing }
            let untaken = try Self.untaken(by: id, db)
            try db.run(prepared: "delete from user where id = ?", id)
            for notification in untaken { try Self.eraseIfTaken(db, notification) }
            writer.recordErasure()
            return .done
        } recording: {
            $0 == .done ? record : nil
        }
    }

    /// `nil` also if there is no such user.
    private static func issuedAccount(_ key: Data, _ db: Database) throws -> IssuedAccount? {
        try db.first(prepared: "\(SQLiteReader.issuedAccount) where name_key = ?", key) { IssuedAccount($0) } ?? nil
    }

    private static func set(_ issued: IssuedAccount, ofUser key: Data, _ db: Database) throws {
        try db.run(
            prepared: """
                update user set issued_to = ?, issued_at = ?, issued_role = ?, issued_apps = ?, issued_scopes = ?
                where name_key = ?
                """,
            issued.owner,
            issued.issuedAt.milliseconds,
            issued.rights.role?.rawValue,
            issued.storedApps,
            issued.rights.scopes?.description,
            key
        )
    }

    private static func isLastAdministrator(_ key: Data, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                select not exists (
                    select 1 from user other where role = 'admin' and disabled_at is null and other.id <> user.id)
                from user where name_key = ? and role = 'admin' and disabled_at is null
                """,
            arguments: [key]
        ) ?? false
    }
}
