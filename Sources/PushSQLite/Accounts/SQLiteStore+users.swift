package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addUser(_ user: NewUser, by record: AuditRecord?, now: Date) async throws -> Bool {
        try await self.write(by: record) { [sealing] db in
            // The id is read before the insert, because the encryption of the name is bound to it.
            // No other process can insert a user meanwhile.
            let last = try db.number("select seq from sqlite_sequence where name = 'account'")
            let id = (last ?? 0) + 1
            let sealed = try sealing.seal(user.name.description, in: .username(id))
            return try db.run(
                """
                insert into account (id, name, name_key, role, apps, password, created_at, requires_encryption)
                values (\(id), \(sealed), \(sealing.index.hash(user.name)), \(user.role.rawValue), \(user.apps.stored),
                    \(user.password.phc), \(now.milliseconds), \(user.requiresEncryption))
                on conflict (name_key) do nothing
                """
            ) == 1
        }
    }

    package func changeUser(
        _ name: Username,
        _ change: AccountChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange {
        try await self.writer.write { db in
            let account = try self.account(name, db)
            let isLast = try change.isLosing && Self.isLastAdministrator(account, db)
            let (outcome, plan) = change.decide(account, isLastAdministrator: isLast)
            if let plan { try self.write(plan, by: record, db, now: now) }
            return outcome
        }
    }

    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.writer.write { [writer] db in
            try db.run("update account set password = \(new.phc) where id = \(user.id) and password = \(old.phc)")
            writer.recordErasure()
        }
    }

    /// Small enough that a waiting post is not noticeably delayed.
    package static let deletionPage = 1000

    package func deleteUser(
        _ name: Username,
        page: Int,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange? {
        try await self.write(.housekeeping, by: record, on: .done) { [writer] db in
            let account = try self.account(name, db)
            let isLast = try Self.isLastAdministrator(account, db)
            let outcome = AccountChange.deletion(of: account, isLastAdministrator: isLast)
            guard outcome == .done, let id = account?.id else { return outcome }
            guard try self.deleteReceived(by: id, page: page, db, now: now) < page else { return nil }
            try db.run("delete from account where id = \(id)")
            writer.recordErasure()
            return outcome
        }
    }

    func account(_ name: Username, _ db: Database) throws -> StoredAccount? {
        let key = self.sealing.index.hash(name)
        return try db.first(SQL(sql: SQLiteReader.accountNamed), key, decode: StoredAccount.init)
    }

    func account(_ id: Int64, _ db: Database) throws -> StoredAccount? {
        try db.first(SQL(sql: SQLiteReader.accountWithID), id, decode: StoredAccount.init)
    }

    // MARK: - Private

    /// Deletes the user's oldest received notifications, at most `page` of them, and cancels their
    /// pushes to the user's devices. Returns the number of deleted notifications.
    private func deleteReceived(by user: Int64, page: Int, _ db: Database, now: Date) throws -> Int {
        let last: Int64 =
            try db.number(
                "select change from recipient where user_id = \(user) order by change limit 1 offset \(page - 1)"
            ) ?? .max
        let untaken = try db.all(SQL(sql: Self.untakenByUser), user, last) { try $0.integer() }
        try Self.cancel(
            db,
            where: """
                device in (select number from device where user_id = \(user)) and notification_id in (
                    select notification_id from recipient where user_id = \(user) and change <= \(last))
                """,
            reason: PushReason.deviceGone,
            now: now
        )
        let count = try db.run("delete from recipient where user_id = \(user) and change <= \(last)")
        for notification in untaken { try self.eraseIfTaken(notification, db) }
        return count
    }

    private static func isLastAdministrator(_ account: StoredAccount?, _ db: Database) throws -> Bool {
        guard let account, account.isAdministrator else { return false }
        return try !db.exists(SQL(sql: Self.otherAdministrator), account.id)
    }

    static let otherAdministrator =
        "select 1 from account where role = 'admin' and disabled_at is null and id <> ? limit 1"

    private func write(_ plan: AccountPlan, by record: AuditRecord?, _ db: Database, now: Date) throws {
        let (user, change) = (plan.user, plan.change)
        // This query must come first: it needs the sessions that the next statement deletes.
        let devices =
            try plan.retiresDevices ? db.all(SQL(sql: Self.devicesOfSessions), user, decode: EndingDevice.init) : []
        if plan.endsSessions { try db.run("delete from token where is_session and user_id = \(user)") }
        if plan.isNews {
            try db.run(
                """
                update account set role = coalesce(\(change.role?.rawValue), role),
                    apps = case when \(change.apps != nil) then \(change.apps?.stored) else apps end,
                    disabled_at = case \(change.isDisabled) when 1 then coalesce(disabled_at,
                        \(now.milliseconds)) when 0 then null else disabled_at end,
                    requires_encryption = coalesce(\(change.requiresEncryption), requires_encryption)
                where id = \(user)
                """
            )
        }
        if let apps = change.apps {
            let devices = try db.all(SQL(sql: Self.devicesWithHandle), user, decode: EndingDevice.init)
            try self.write(DeviceEnds(of: devices, outside: apps), db, now: now)
        }
        if let issued = change.issued?.account {
            try db.run(
                """
                update account set issued_to = \(issued.owner), issued_at = \(issued.issuedAt.milliseconds),
                    issued_role = \(issued.rights.role?.rawValue), issued_apps = \(issued.storedApps),
                    issued_scopes = \(issued.rights.scopes?.description)
                where id = \(user)
                """
            )
        }
        try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
        if let password = change.password {
            try db.run(
                "update account set password = \(password.phc), password_number = password_number + 1 where id = \(user)"
            )
        }
        if change.apps != nil || change.password != nil { self.writer.recordErasure() }
        if let record { try self.audit.append(record, to: db) }
    }

    package func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.writer.write { [writer, sealing, audit] db in
            let account = try self.account(name, db)
            guard let plan = try UserTagPlan(tags, of: account, ifStill: rights, by: record, sealing) else {
                return false
            }
            try db.run("update account set tags = \(plan.sealed) where id = \(plan.user)")
            try db.run("delete from user_tag where user_id = \(plan.user)")
            for key in plan.keys {
                try db.run("insert into user_tag (user_id, tag) values (\(plan.user), \(key))")
            }
            if plan.isErasing { writer.recordErasure() }
            if let record = plan.record { try audit.append(record, to: db) }
            return true
        }
    }
}
