package import Foundation
internal import GRDB
package import PushCore

/// Somebody who may sign in.
package struct User: Sendable, Hashable {
    package let id: Int64
    package let name: Username
    package let role: Role
    package let password: PasswordHash
}

extension Reader {
    /// The user of that name, compared without case.
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            let statement = try db.cachedStatement(sql: "select id, name, role, password from user where name_key = ?")
            guard
                let row = try Row.fetchOne(statement, arguments: [name.key]),
                let name = Username(row["name"]),
                let role = Role(rawValue: row["role"])
            else { return nil }
            return User(id: row["id"], name: name, role: role, password: PasswordHash(phc: row["password"]))
        }
    }
}

extension Store {
    /// Makes a user; `false` if there is one of that name.
    package func addUser(
        _ name: Username,
        role: Role,
        password: PasswordHash,
        now: Date
    ) async throws -> Bool {
        try await self.writer.write { db in
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
}
