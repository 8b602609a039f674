package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func user(named name: Username) async throws(StoreError) -> User? {
        let sealing = self.store.sealing
        return try await self.read(Self.userNamed, sealing.index.hash(name)) { rows in
            guard let user = try rows.first.flatMap({ try User($0, sealing) }) else { return nil }
            // A damaged index leads to the row of another user.
            guard user.name == name else { throw StoreError.damaged(row: "a user's") }
            return user
        }
    }

    static let userNamed = """
        select id, name, role, apps, password_number, disabled_at is not null from account where name_key = $1
        """

    package func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount? {
        try await self.read(Self.issuedAccount, user.id) { rows in try rows.first.flatMap { try IssuedAccount($0) } }
    }

    static let issuedAccount = """
        select issued_to, issued_at, issued_role, issued_apps, issued_scopes from account where id = $1
        """

    package func hasUsers() async throws(StoreError) -> Bool {
        try await self.read(Self.anyUser) { rows in rows.first != nil }
    }

    static let anyUser = "select 1 from account limit 1"

    package func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry] {
        let sealing = self.store.sealing
        let start = last.map(sealing.index.hash) ?? Data()
        return try await self.read(Self.usersAfter, start, limit) { rows in
            try rows.compactMap { try UserEntry($0, sealing) }
        }
    }

    package func userEntry(named name: Username) async throws(StoreError) -> UserEntry? {
        let sealing = self.store.sealing
        return try await self.read(Self.entryNamed, sealing.index.hash(name)) { rows in
            try rows.first.flatMap { try UserEntry($0, sealing) }
        }
    }

    static let usersAfter = "\(entries) where name_key > $1 order by name_key limit $2"
    private static let entryNamed = "\(entries) where name_key = $1"

    private static let entries = """
        select a.id, a.name, a.role, a.apps, a.created_at, a.disabled_at is not null, a.password, a.tags, (
            select max(x.accepted_at) from (
                select p.accepted_at from device d left join device_push p on p.device = d.number
                where d.user_id = a.id order by d.created_at desc, d.number desc limit \(UserEntry.countedForPush)) x), (
            select max(x.fetched_at) from (
                select r.fetched_at from recipient r where r.user_id = a.id
                order by r.change desc limit \(DeviceEntry.countedForFetch)) x)
        from account a
        """

    package func tags(ofUser name: Username) async throws(StoreError) -> [Tag]? {
        let sealing = self.store.sealing
        return try await self.read(Self.userTags, sealing.index.hash(name)) { rows in
            try rows.first.map { try sealing.tags(try $0.optionalData(1), ofUser: $0.integer(0)) }
        }
    }

    private static let userTags = "select id, tags from account where name_key = $1"
}

extension IssuedAccount {
    /// `nil` if the account has no owner yet.
    init?(_ row: Row) throws {
        self.init(
            owner: try row.optionalData(0),
            issuedAt: try row.optionalInteger(1),
            role: try row.optionalText(2),
            apps: try row.optionalText(3),
            scopes: try row.optionalText(4)
        )
    }
}

extension User {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = Role(rawValue: try row.text(2)) else { return nil }
        let id = try row.integer(0)
        self.init(
            id: id,
            name: try sealing.username(row.data(1), ofUser: id),
            role: role,
            apps: Set(storedApps: try row.optionalText(3)),
            passwordNumber: try row.integer(4),
            isDisabled: try row.boolean(5)
        )
    }
}

extension UserEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let role = Role(rawValue: try row.text(2)) else { return nil }
        self.init(
            name: try sealing.username(row.data(1), ofUser: row.integer(0)),
            role: role,
            apps: Set(storedApps: try row.optionalText(3)),
            tags: try sealing.tags(try row.optionalData(7), ofUser: row.integer(0)),
            createdAt: Date(milliseconds: try row.integer(4)),
            isDisabled: try row.boolean(5),
            hasPassword: !PasswordHash(phc: try row.text(6)).isNone,
            pushedAt: try row.optionalInteger(8).map(Date.init(milliseconds:)),
            fetchedAt: try row.optionalInteger(9).map(Date.init(milliseconds:))
        )
    }
}

extension Sealing {
    /// Decrypts the tags given to a user; empty without a value.
    package func tags(_ sealed: Data?, ofUser user: Int64) throws -> [Tag] {
        try sealed.map { try self.tags($0, in: .userTags(user)) } ?? []
    }
}
