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
    /// What the pushes have in common of which only the newest counts; tells nothing of the key it was made of.
    package let collapseID: String?
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
        collapseID: String?,
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
        self.collapseID = collapseID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A notification as it lies in the database, seen by one who may.
package struct StoredNotification: Sendable, Hashable {
    package let sender: Int64
    package let sealedPayload: Data
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isRecipient: Bool
    package let readAt: Date?
    package let fetchedAt: Date?
    package let createdAt: Date
    package let expiresAt: Date
    /// When what the user sees of it last became another.
    package let changedAt: Date
}

extension Reader {
    /// The notification, if the user is a recipient, or its sender and asks as such, and it has not expired.
    ///
    /// What may be read once is its recipients' alone. Throws `StoreError.damaged` if the row that makes the user a
    /// recipient was not written by the store.
    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) throws(StoreError) -> StoredNotification? {
        let found = try self.readRow(
            Self.collecting,
            id.rawValue,
            user,
            now.milliseconds,
            alsoAsSender ? 1 : 0
        ) { row -> StoredNotification? in
            let isRecipient = row.integer(5) != 0
            guard !isRecipient || row.integer(8) == self.sealing.rows.recipient(of: id.rawValue, user: user) else {
                return nil
            }
            return StoredNotification(
                sender: row.integer(9),
                sealedPayload: row.data(0),
                isStoredByClients: row.integer(1) != 0,
                isReadOnce: row.integer(2) != 0,
                isRecipient: isRecipient,
                readAt: row.date(6),
                fetchedAt: row.date(7),
                createdAt: Date(milliseconds: row.integer(3)),
                expiresAt: Date(milliseconds: row.integer(4)),
                changedAt: Date(milliseconds: row.integer(10))
            )
        }
        if case .some(nil) = found { throw .damaged(row: "a recipient of notification \(id)") }
        return found ?? nil
    }

    private static let collecting = DirectQuery(
        name: .notification,
        sql: """
            select n.payload, n.is_stored_by_clients, n.is_read_once, n.created_at, n.expires_at,
                r.user_id is not null, r.read_at, r.fetched_at, r.seal, n.sender_id,
                coalesce(r.changed_at, n.created_at)
            from notification n
            left join recipient r on r.notification_id = n.id and r.user_id = ?2
            where n.id = ?1 and n.expires_at > ?3 and n.payload is not null
                and (r.user_id is not null and r.dismissed_at is null or (?4 and n.sender_id = ?2 and not n.is_read_once))
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
        /// The same request has been stored before, and is not stored again.
        case repeated(NotificationID, createdAt: Date, expiresAt: Date)
        /// Another request has come with the same key.
        case keyReused
        /// The sender has as much stored as it may.
        case tooMuch(StorageExcess)
    }

    /// Stores a notification, its recipients and one outbox row for each device, together or not at all.
    ///
    /// For more than a `page` of devices it stores the first of them, and the work of finding the others. A request that has
    /// to be answered `once` is noted with it, unless it has been before.
    package func post(
        _ notification: NewNotification,
        once request: IdempotentRequest? = nil,
        by record: AuditRecord? = nil,
        within bounds: StorageBounds? = nil,
        page: Int = Store.fanoutPage
    ) async throws -> PostOutcome {
        let work = self.noting { [sealing, changes] db -> PostOutcome in
            if let request, let earlier = try Self.earlierOutcome(db, of: request, now: notification.createdAt) {
                return earlier
            }
            if let bounds,
                let excess = try bounds.excess(db, of: notification.sender, adding: notification.sealedPayload.count)
            {
                return .tooMuch(excess)
            }
            guard try Self.insert(db, notification, sealing) else { return .idTaken }
            if let request { try Self.note(db, request, of: notification) }
            for name in notification.audience.usernames {
                let change = changes.next()
                try db.execute(
                    sql: """
                        insert into recipient (notification_id, user_id, change, changed_at, seal)
                        select ?1, id, ?3, ?4, recipient_seal(?1, id) from user where name_key = ?2
                        on conflict (notification_id, user_id) do nothing
                        """,
                    arguments: [
                        notification.id.rawValue, sealing.index.hash(name), change, notification.createdAt.milliseconds,
                    ]
                )
                if db.changesCount == 0, try !Self.isUser(db, name, sealing) { throw UnknownUser(name: name) }
                if notification.isReadOnce {
                    try Self.noteUntaken(db, notification.id.rawValue, change: change)
                }
            }
            return .stored(pushes: try Self.enqueue(db, notification, sealing, changes, page: page))
        } _: {
            if case .stored = $0 { record } else { nil }
        }
        return try await self.writer.write(work) { (error: UnknownUser) in .unknownUser(error.name) }
    }

    /// Notes that a recipient has collected the payload, the first time. Not awaited, and may be lost with a crash.
    ///
    /// A push that still waits for its time is then cancelled, if it must have been its device that fetched.
    package func noteFetch(of id: NotificationID, by user: Int64, now: Date) {
        self.writer.writeEventually { try Self.noteFetch($0, of: id, by: user, now: now) }
    }

    /// The same for many, which others need not wait behind.
    package func noteFetches(of ids: [NotificationID], by user: Int64, now: Date) {
        var rest = ids[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Self.fetchesAtOnce))
            rest = rest.dropFirst(some.count)
            self.writer.writeEventually { db in
                for id in some { try Self.noteFetch(db, of: id, by: user, now: now) }
            }
        }
    }

    private static let fetchesAtOnce = 100

    private static func noteFetch(_ db: Database, of id: NotificationID, by user: Int64, now: Date) throws {
        try db.cachedStatement(
            sql: """
                update recipient set fetched_at = ? where notification_id = ? and user_id = ? and fetched_at is null
                """
        ).execute(arguments: [now.milliseconds, id.rawValue, user])
        guard db.changesCount == 1 else { return }
        let waiting = try Int64.fetchAll(
            db.cachedStatement(
                sql: """
                    select x.device from device d join delivery x on x.notification_id = ?1 and x.device = d.number
                    where d.user_id = ?2 and d.retired_at is null and d.handle is not null
                        and x.settled_at is null and x.reason = ?3
                        and not exists (select 1 from device o where o.user_id = ?2 and o.number <> d.number
                            and o.lane = d.lane and o.retired_at is null)
                    """
            ),
            arguments: [id.rawValue, user, Self.paced]
        )
        for device in waiting {
            try Self.cancel(
                db,
                where: "notification_id = \(id.rawValue) and device = \(device)",
                reason: "the device has fetched it",
                now: now
            )
        }
    }

    // MARK: - Private

    private static func insert(_ db: Database, _ notification: NewNotification, _ sealing: Sealing) throws -> Bool {
        // Sealed before the keyring was exchanged, it would come behind a pass of `rewrap`.
        let place = SealedPlace.payload(notification.id, sender: notification.sender)
        let payload = try sealing.vault.renewed(notification.sealedPayload, in: place)
        try db.cachedStatement(
            sql: """
                insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, collapse_id,
                    seed, created_at, expires_at, payload)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
                """
        ).execute(arguments: [
            notification.id.rawValue, notification.sender, notification.isStoredByClients, notification.isReadOnce,
            notification.priority.rawValue, notification.collapseID, Int64.random(in: .min ... .max),
            notification.createdAt.milliseconds, notification.expiresAt.milliseconds,
            payload ?? notification.sealedPayload,
        ])
        return db.changesCount == 1
    }

    private static func isUser(_ db: Database, _ name: Username, _ sealing: Sealing) throws -> Bool {
        try Int64.fetchOne(
            db,
            sql: "select id from user where name_key = ?",
            arguments: [sealing.index.hash(name)]
        ) != nil
    }
}

/// Thrown inside the transaction, so that nothing of the notification stays.
private struct UnknownUser: Error {
    let name: Username
}
