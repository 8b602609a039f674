internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Finds the facts that the decisions about posts need, each when it is needed.
struct PostSearch: PostFacts {
    private let db: Database
    /// The users that were read so far. They are kept, since the posts of a batch often have the
    /// same recipients.
    private var users: [Data: NamedUser] = [:]
    private let now: Date

    init(_ db: Database, now: Date) { (self.db, self.now) = (db, now) }

    func earlier(_ request: IdempotentRequest) throws -> StoredRequest? {
        try self.db.first(
            SQL(sql: "select \(StoredRequest.columns) from idempotency where key = ? and created_at > ?"),
            request.key,
            (self.now - IdempotentRequest.lifetime).milliseconds
        ) { try StoredRequest($0) }
    }

    /// Reads a single row: there, triggers count the sender's notifications and bytes.
    func usage(of sender: Int64) throws -> Usage {
        try self.db.first("select notifications, bytes from usage where user_id = ?", sender) {
            try Usage(notifications: $0.integer("notifications"), bytes: $0.integer("bytes"))
        } ?? Usage()
    }

    mutating func user(withKey key: Data) throws -> NamedUser? {
        if let user = self.users[key] { return user }
        let sql = "select id, apps, requires_encryption from account where name_key = ?"
        let user = try self.db.first(SQL(sql: sql), key) { row in
            let apps = try Set(storedApps: row.optionalText("apps"))
            return try NamedUser(id: row.integer("id"), apps: apps, requiresEncryption: row.flag("requires_encryption"))
        }
        self.users[key] = user
        return user
    }

    func isTaken(_ id: NotificationID) -> Bool { false }
}
