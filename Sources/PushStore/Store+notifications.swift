package import Foundation
internal import GRDB
package import PushCore

/// A notification to be stored, its payload sealed already.
package struct NewNotification: Sendable, Hashable {
    package let id: NotificationID
    package let sender: Int64
    package let sealedPayload: Data
    package let audience: Audience
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let priority: Push.Priority
    package let collapseKey: String?
    package let createdAt: Date
    package let expiresAt: Date

    package init(
        id: NotificationID,
        sender: Int64,
        sealedPayload: Data,
        audience: Audience,
        isStoredByClients: Bool,
        isReadOnce: Bool,
        priority: Push.Priority,
        collapseKey: String?,
        createdAt: Date,
        expiresAt: Date
    ) {
        self.id = id
        self.sender = sender
        self.sealedPayload = sealedPayload
        self.audience = audience
        self.isStoredByClients = isStoredByClients
        self.isReadOnce = isReadOnce
        self.priority = priority
        self.collapseKey = collapseKey
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A notification as it lies in the database, seen by one who may.
package struct StoredNotification: Sendable, Hashable {
    package let sealedPayload: Data
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isRecipient: Bool
    package let readAt: Date?
    package let fetchedAt: Date?
    package let createdAt: Date
    package let expiresAt: Date
}

extension Reader {
    /// The notification, if the user is a recipient, or its sender and asks as such, and it has not expired.
    ///
    /// What may be read once is its recipients' alone.
    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) throws(StoreError) -> StoredNotification? {
        try self.readRow(
            Self.collecting,
            id.rawValue,
            user,
            now.milliseconds,
            alsoAsSender ? 1 : 0
        ) { row in
            StoredNotification(
                sealedPayload: row.data(0),
                isStoredByClients: row.integer(1) != 0,
                isReadOnce: row.integer(2) != 0,
                isRecipient: row.integer(5) != 0,
                readAt: row.date(6),
                fetchedAt: row.date(7),
                createdAt: Date(milliseconds: row.integer(3)),
                expiresAt: Date(milliseconds: row.integer(4))
            )
        }
    }

    private static let collecting = DirectQuery(
        name: .notification,
        sql: """
            select n.payload, n.is_stored_by_clients, n.is_read_once, n.created_at, n.expires_at,
                r.user_id is not null, r.read_at, r.fetched_at
            from notification n
            left join recipient r on r.notification_id = n.id and r.user_id = ?2
            where n.id = ?1 and n.expires_at > ?3 and n.payload is not null
                and (r.user_id is not null or (?4 and n.sender_id = ?2 and not n.is_read_once))
            """
    )
}

extension Store {
    package enum PostOutcome: Sendable, Hashable {
        /// Durable, and so is the work of pushing it.
        case stored(pushes: Int)
        /// The id is in use: choose another and seal anew.
        case idTaken
        case unknownUser(Username)
    }

    /// Stores a notification, its recipients and one outbox row for each device, together or not at all.
    package func post(_ notification: NewNotification) async throws -> PostOutcome {
        try await self.writer.write { db in
            guard try Self.insert(db, notification) else { return .idTaken }
            for name in notification.audience.usernames {
                try db.execute(
                    sql: """
                        insert or ignore into recipient (notification_id, user_id)
                        select ?, id from user where name_key = ?
                        """,
                    arguments: [notification.id.rawValue, name.key]
                )
                if db.changesCount == 0, try !Self.isUser(db, name) { throw UnknownUser(name: name) }
            }
            let condition = notification.audience.condition
            try db.execute(
                literal: """
                    insert or ignore into recipient (notification_id, user_id)
                    select \(notification.id.rawValue), d.user_id from device d where \(condition)
                    """
            )
            try db.execute(
                literal: """
                    insert into delivery (notification_id, device_id, platform, state, attempt_id, due_at)
                    select \(notification.id.rawValue), d.id, d.platform, 'queued', \(SQL(sql: randomUUID)),
                        \(notification.createdAt.milliseconds)
                    from device d where \(condition)
                    """
            )
            return .stored(pushes: db.changesCount)
        } catching: { (error: UnknownUser) in
            .unknownUser(error.name)
        }
    }

    /// Notes that a recipient has collected the payload, the first time. Not awaited, and may be lost with a crash.
    package func noteFetch(of id: NotificationID, by user: Int64, now: Date) {
        self.writer.writeEventually { db in
            try db.execute(
                sql: """
                    update recipient set fetched_at = ? where notification_id = ? and user_id = ? and fetched_at is null
                    """,
                arguments: [now.milliseconds, id.rawValue, user]
            )
        }
    }

    /// Gives a payload that may be read once to a recipient: `false` if it was given already.
    ///
    /// With the last recipient the payload is erased.
    package func take(_ id: NotificationID, by user: Int64) async throws -> Bool {
        try await self.writer.write { db in
            try db.execute(
                sql: "delete from recipient where notification_id = ? and user_id = ?",
                arguments: [id.rawValue, user]
            )
            guard db.changesCount == 1 else { return false }
            try db.execute(
                sql: """
                    update notification set payload = null
                    where id = ?1 and not exists (select 1 from recipient where notification_id = ?1)
                    """,
                arguments: [id.rawValue]
            )
            return true
        }
    }

    /// Deletes notifications that have expired, with all that belongs to them; returns how many, at most `limit`.
    package func deleteExpired(now: Date, limit: Int) async throws -> Int {
        try await self.writer.write { db in
            try db.execute(
                sql: """
                    delete from notification where id in (
                        select id from notification where expires_at <= ? order by expires_at limit ?)
                    """,
                arguments: [now.milliseconds, limit]
            )
            return db.changesCount
        }
    }

    // MARK: - Private

    private static func insert(_ db: Database, _ notification: NewNotification) throws -> Bool {
        try db.cachedStatement(
            sql: """
                insert into notification (id, sender_id, payload, is_stored_by_clients, is_read_once, priority,
                    collapse_key, created_at, expires_at)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
                """
        ).execute(arguments: [
            notification.id.rawValue, notification.sender, notification.sealedPayload,
            notification.isStoredByClients, notification.isReadOnce, notification.priority.rawValue,
            notification.collapseKey, notification.createdAt.milliseconds, notification.expiresAt.milliseconds,
        ])
        return db.changesCount == 1
    }

    private static func isUser(_ db: Database, _ name: Username) throws -> Bool {
        try Int64.fetchOne(db, sql: "select id from user where name_key = ?", arguments: [name.key]) != nil
    }
}

/// Thrown inside the transaction, so that nothing of the notification stays.
private struct UnknownUser: Error {
    let name: Username
}

/// A version 4 UUID in lower case (RFC 9562), made for each row.
private let randomUUID = """
    lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
    """
