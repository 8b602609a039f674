internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            let statement = try db.cachedStatement(
                sql: """
                    select id, name, role, apps, password_number, disabled_at is not null as is_disabled
                    from user where name_key = ?
                    """
            )
            return try Row.fetchOne(statement, arguments: [self.sealing.index.hash(name)]).flatMap { row in
                let user = try User(row, self.sealing)
                // A damaged index leads to the row of another user.
                guard user?.name == name else { throw StoreError.damaged(row: "a user's") }
                return user
            }
        }
    }

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

    package func issuedAccount(of user: User) throws(StoreError) -> IssuedAccount? {
        try self.read { db in
            try db.first(prepared: "\(Self.issuedAccount) where id = ?", user.id) { IssuedAccount($0) } ?? nil
        }
    }

    static let issuedAccount = "select issued_to, issued_at, issued_role, issued_apps, issued_scopes from user"

    package func hasUsers() throws(StoreError) -> Bool {
        try self.read { db in try Row.fetchOne(db, sql: "select 1 from user limit 1") != nil }
    }

    package func users(after last: Username?, limit: Int) throws(StoreError) -> [UserEntry] {
        try self.read { db in
            try Row.fetchAll(
                db,
                sql: Self.usersAfter,
                arguments: [last.map(self.sealing.index.hash) ?? Data(), limit]
            ).compactMap { try UserEntry($0, self.sealing) }
        }
    }

    package func userEntry(named name: Username) throws(StoreError) -> UserEntry? {
        try self.read { db in
            try Row.fetchOne(
                db,
                sql: "\(Self.entries) where name_key = ?",
                arguments: [self.sealing.index.hash(name)]
            ).flatMap { try UserEntry($0, self.sealing) }
        }
    }

    static let usersAfter = "\(entries) where name_key > ? order by name_key limit ?"

    private static let entries = """
        select id, name, role, apps, created_at, disabled_at is not null as is_disabled, password, tags, (
            select max(x.accepted_at) from (
                select p.accepted_at from device d indexed by device_by_user left join device_push p on p.device = d.number
                where d.user_id = user.id order by d.created_at desc limit \(UserEntry.countedForPush)) x) as pushed_at, (
            select max(x.fetched_at) from (
                select r.fetched_at from recipient r where r.user_id = user.id
                order by r.change desc limit \(DeviceEntry.countedForFetch)) x) as fetched_at
        from user
        """
}

extension UserEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = try Role(rawValue: row["role"]) else { return nil }
        self.init(
            name: try sealing.username(row["name"], ofUser: row["id"]),
            role: role,
            apps: try Set(storedApps: row["apps"]),
            tags: try sealing.tags(row["tags"], ofUser: row["id"]),
            createdAt: try Date(milliseconds: row["created_at"]),
            isDisabled: try row["is_disabled"],
            hasPassword: try !PasswordHash(phc: row["password"]).isNone,
            pushedAt: try (row["pushed_at"] as Int64?).map(Date.init(milliseconds:)),
            fetchedAt: try (row["fetched_at"] as Int64?).map(Date.init(milliseconds:))
        )
    }
}

extension IssuedAccount {
    /// `nil` if nobody owns the account yet.
    init?(_ row: borrowing DirectRow) {
        self.init(
            owner: row.isNull(0) ? nil : row.data(0),
            issuedAt: row.isNull(1) ? nil : row.integer(1),
            role: row.optionalText(2),
            apps: row.optionalText(3),
            scopes: row.optionalText(4)
        )
    }
}

extension User {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = try Role(rawValue: row["role"]) else { return nil }
        self.init(
            id: try row["id"],
            name: try sealing.username(row["name"], ofUser: row["id"]),
            role: role,
            apps: try Set(storedApps: row["apps"]),
            passwordNumber: try row["password_number"],
            isDisabled: try row["is_disabled"]
        )
    }
}
