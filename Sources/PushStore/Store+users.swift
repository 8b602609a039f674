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
}

extension Reader {
    /// The user of that name, compared without case.
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            let statement = try db.cachedStatement(
                sql: "select id, name, role, password_number from user where name_key = ?"
            )
            guard
                let row = try Row.fetchOne(statement, arguments: [name.key]),
                let own = try Username(row["name"]),
                let role = try Role(rawValue: row["role"])
            else { return nil }
            // A damaged index leads to another's row.
            guard own == name else { throw StoreError.damaged(row: "a user's") }
            return try User(id: row["id"], name: own, role: role, passwordNumber: row["password_number"])
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
        try await self.write(by: record) { db in
            try db.execute(
                sql: """
                    insert into user (name, name_key, role, password, created_at) values (?, ?, ?, ?, ?)
                    on conflict (name_key) do nothing
                    """,
                arguments: [name.description, name.key, role.rawValue, password.phc, now.milliseconds]
            )
            return db.changesCount == 1
        }
    }

    /// Gives a user another role or another password, which ends the user's sessions; `false` if there is no such user.
    package func changeUser(
        _ name: Username,
        role: Role?,
        password: PasswordHash?,
        by record: AuditRecord? = nil
    ) async throws -> Bool {
        try await self.write(by: record) { db in
            if let password {
                try db.execute(
                    sql: "update user set password = ?, password_number = password_number + 1 where name_key = ?",
                    arguments: [password.phc, name.key]
                )
            }
            try db.execute(
                sql: "update user set role = coalesce(?, role) where name_key = ?",
                arguments: [role?.rawValue, name.key]
            )
            return db.changesCount == 1
        }
    }

    /// Deletes a user with all tokens, devices and what was sent to them; `false` if there is no such user.
    package func deleteUser(_ name: Username, by record: AuditRecord? = nil) async throws -> Bool {
        try await self.write(by: record) { db in
            try db.execute(sql: "delete from user where name_key = ?", arguments: [name.key])
            return db.changesCount == 1
        }
    }
}
