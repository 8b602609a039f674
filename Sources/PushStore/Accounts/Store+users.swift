package import Foundation
internal import GRDB
package import PushCore

/// Somebody who may sign in.
package struct User: Sendable, Hashable {
    package let id: Int64
    package let name: Username
    package let role: Role
    /// Another one after each change of the password.
    package let passwordNumber: Int64
    /// Refused like nobody, as long as it is so.
    package let isDisabled: Bool
}

/// A user as lists show it.
package struct UserEntry: Sendable, Hashable {
    package let name: Username
    package let role: Role
    package let createdAt: Date
    package let isDisabled: Bool
}

/// What became of a change to a user.
package enum UserChange: Sendable, Hashable {
    case done
    case missing
    /// It is the only administrator who is not disabled, and nobody could undo it.
    case lastAdministrator
}

extension Reader {
    /// The user of that name, compared without case.
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            let statement = try db.cachedStatement(
                sql: """
                    select id, name, role, password_number, disabled_at is not null as is_disabled
                    from user where name_key = ?
                    """
            )
            return try Row.fetchOne(statement, arguments: [self.sealing.index.hash(name)]).flatMap { row in
                let user = try User(row, self.sealing)
                // A damaged index leads to another's row.
                guard user?.name == name else { throw StoreError.damaged(row: "a user's") }
                return user
            }
        }
    }

    /// What the user's password is checked against; `nil` if it was changed, or the user deleted, meanwhile.
    package func password(of user: User) throws(StoreError) -> PasswordHash? {
        try self.read { db in
            let statement = try db.cachedStatement(
                sql: "select password from user where id = ? and password_number = ?"
            )
            return try String.fetchOne(statement, arguments: [user.id, user.passwordNumber]).map(
                PasswordHash.init(phc:)
            )
        }
    }

    /// Users in one order, which is not the alphabet's; at most `limit` behind `last`.
    package func users(after last: Username?, limit: Int) throws(StoreError) -> [UserEntry] {
        try self.read { db in
            try Row.fetchAll(
                db,
                sql: "\(Self.entries) where name_key > ? order by name_key limit ?",
                arguments: [last.map(self.sealing.index.hash) ?? Data(), limit]
            ).compactMap { try UserEntry($0, self.sealing) }
        }
    }

    /// The user of that name as lists show it.
    package func userEntry(named name: Username) throws(StoreError) -> UserEntry? {
        try self.read { db in
            try Row.fetchOne(
                db,
                sql: "\(Self.entries) where name_key = ?",
                arguments: [self.sealing.index.hash(name)]
            ).flatMap { try UserEntry($0, self.sealing) }
        }
    }

    private static let entries = "select id, name, role, created_at, disabled_at is not null as is_disabled from user"
}

extension UserEntry {
    /// `nil` if the row is not one that this version has written; throws if the name does not open.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = try Role(rawValue: row["role"]) else { return nil }
        self.name = try sealing.username(row["name"], ofUser: row["id"])
        self.role = role
        self.createdAt = try Date(milliseconds: row["created_at"])
        self.isDisabled = try row["is_disabled"]
    }
}

extension User {
    /// `nil` if the row is not one that this version has written; throws if the name does not open.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = try Role(rawValue: row["role"]) else { return nil }
        self.id = try row["id"]
        self.name = try sealing.username(row["name"], ofUser: row["id"])
        self.role = role
        self.passwordNumber = try row["password_number"]
        self.isDisabled = try row["is_disabled"]
    }
}

extension Store {
    /// Makes a user; `false` if there is one of that name.
    package func addUser(
        _ name: Username,
        role: Role,
        password: PasswordHash,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [sealing] db in
            // Known beforehand, since the name is sealed to it; nobody else writes.
            let id = try Int64.fetchOne(db, sql: "select seq + 1 from sqlite_sequence where name = 'user'") ?? 1
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, password, created_at) values (?, ?, ?, ?, ?, ?)
                    on conflict (name_key) do nothing
                    """,
                arguments: [
                    id, try sealing.seal(name.description, in: .username(id)), sealing.index.hash(name), role.rawValue,
                    password.phc, now.milliseconds,
                ]
            )
            return db.changesCount == 1
        }
    }

    /// Gives a user another role or another password, which ends the user's sessions, or disables or enables the user;
    /// `nil` leaves a thing as it is.
    package func changeUser(
        _ name: Username,
        role: Role? = nil,
        password: PasswordHash? = nil,
        isDisabled: Bool? = nil,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> UserChange {
        try await self.write { [writer, sealing] db in
            let key = sealing.index.hash(name)
            let staysAdministrator = (role ?? .admin) == .admin && isDisabled != true
            if !staysAdministrator, try Self.isLastAdministrator(key, db) { return .lastAdministrator }
            try db.execute(
                sql: """
                    update user set role = coalesce(?2, role),
                        disabled_at = case ?3 when 1 then coalesce(disabled_at, ?4) when 0 then null else disabled_at end
                    where name_key = ?1
                    """,
                arguments: [key, role?.rawValue, isDisabled, now.milliseconds]
            )
            guard db.changesCount == 1 else { return .missing }
            if let password {
                try db.execute(
                    sql: "update user set password = ?, password_number = password_number + 1 where name_key = ?",
                    arguments: [password.phc, key]
                )
                writer.noteErasure()
            }
            return .done
        } noting: {
            $0 == .done ? record : nil
        }
    }

    /// Deletes a user with all tokens, devices and what was sent to them.
    package func deleteUser(_ name: Username, by record: AuditRecord? = nil) async throws -> UserChange {
        try await self.write { [writer, sealing] db in
            let key = sealing.index.hash(name)
            if try Self.isLastAdministrator(key, db) { return .lastAdministrator }
            try db.execute(sql: "delete from user where name_key = ?", arguments: [key])
            writer.noteErasure()
            return db.changesCount == 1 ? .done : .missing
        } noting: {
            $0 == .done ? record : nil
        }
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
