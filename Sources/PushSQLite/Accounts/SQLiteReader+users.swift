internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            try db.first(prepared: Self.userNamed, self.sealing.index.hash(name)) {
                try User($0, named: name, self.sealing)
            } ?? nil
        }
    }

    private static let userNamed = "select \(UserColumn.list) from user u where name_key = ?"

    package func password(of user: User) throws(StoreError) -> PasswordHash? {
        try self.read { db in
            try db.first(
                prepared: "select password from user where id = ? and password_number = ?",
                user.id,
                user.passwordNumber
            ) { PasswordHash(phc: $0.text(0)) }
        }
    }

    package func issuedAccount(of user: User) throws(StoreError) -> IssuedAccount? {
        try self.read { db in
            try db.first(prepared: Self.accountWithID, user.id) { try StoredAccount($0).issued } ?? nil
        }
    }

    static let accountWithID = "select \(StoredAccount.Column.list) from user where id = ?"
    static let accountNamed = "select \(StoredAccount.Column.list) from user where name_key = ?"

    package func hasUsers() throws(StoreError) -> Bool {
        try self.read { db in try db.first(prepared: "select 1 from user limit 1") { _ in true } ?? false }
    }

    package func users(after last: Username?, limit: Int) throws(StoreError) -> [UserEntry] {
        try self.read { db in
            try db.all(prepared: Self.usersAfter, last.map(self.sealing.index.hash) ?? Data(), limit) {
                try UserEntry($0, self.sealing)
            }.compactMap(\.self)
        }
    }

    package func userEntry(named name: Username) throws(StoreError) -> UserEntry? {
        try self.read { db in
            try db.first(prepared: "\(Self.entries) where name_key = ?", self.sealing.index.hash(name)) {
                try UserEntry($0, self.sealing)
            } ?? nil
        }
    }

    static let usersAfter = "\(entries) where name_key > ? order by name_key limit ?"

    private static let entries = "select \(ListedUserColumn.selected) from user u"

    package func tags(ofUser name: Username) throws(StoreError) -> [Tag]? {
        try self.read { db in
            try db.first(prepared: Self.accountNamed, self.sealing.index.hash(name)) {
                try StoredAccount($0).openTags(self.sealing)
            }
        }
    }
}
