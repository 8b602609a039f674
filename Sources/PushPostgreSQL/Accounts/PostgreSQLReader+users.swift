internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func user(named name: Username) async throws(StoreError) -> User? {
        let sealing = self.store.sealing
        return try await self.read(Self.userNamed, sealing.index.hash(name)) { rows in
            try rows.first.flatMap { try User($0, named: name, sealing) }
        }
    }

    static let userNamed = "select \(UserColumn.list) from account u where name_key = $1"

    package func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount? {
        try await self.read(Self.accountWithID, user.id) {
            try $0.first.flatMap { try StoredAccount($0).issued }
        }
    }

    static let accountWithID = "select \(StoredAccount.Column.list) from account where id = $1"
    static let accountNamed = "select \(StoredAccount.Column.list) from account where name_key = $1"

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

    private static let entries = "select \(ListedUserColumn.selected) from account u"

    package func tags(ofUser name: Username) async throws(StoreError) -> [Tag]? {
        let sealing = self.store.sealing
        return try await self.read(Self.accountNamed, sealing.index.hash(name)) { rows in
            try rows.first.map { try StoredAccount($0).openTags(sealing) }
        }
    }
}
