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

    static let collecting = DirectQuery(
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
        /// Durable, and so is the work of pushing it, if there is any to be done now.
        case stored(pushes: Int, hasWork: Bool = true)
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
        let pusher = self.pusher
        let audience = HashedAudience(notification.audience, pusher.sealing.index)
        let draft = record.map(self.audit.draft)
        return try await self.writer.write(bytes: notification.sealedPayload.count) { [audit] db -> PostOutcome in
            if let request, let earlier = try Self.earlierOutcome(db, of: request, now: notification.createdAt) {
                return earlier
            }
            if let bounds,
                let excess = try bounds.excess(db, of: notification.sender, adding: notification.sealedPayload.count)
            {
                return .tooMuch(excess)
            }
            // Before anything is written, so that a wrong name leaves nothing to undo.
            var recipients: Set<Int64> = []
            for user in audience.users {
                guard let id = try Self.user(withKey: user.key, db) else { return .unknownUser(user.name) }
                recipients.insert(id)
            }
            let target = PushTarget(notification, audience, sequence: pusher.changes.next())
            guard try Self.insert(db, notification, target, pusher.sealing) else { return .idTaken }
            if let request { try Self.note(db, request, of: notification) }
            let now = notification.createdAt
            for user in recipients {
                _ = try Self.insertRecipient(user, of: target, change: target.sequence, pusher.sealing, db, now: now)
            }
            let made = try Self.enqueue(db, target, besides: recipients, by: pusher, page: page, now: now)
            if let draft { try audit.append(draft, to: db) }
            return .stored(pushes: made.pushes, hasWork: made.hasWork)
        }
    }

    // MARK: - Private

    private static func insert(
        _ db: Database,
        _ notification: NewNotification,
        _ target: PushTarget,
        _ sealing: Sealing
    ) throws -> Bool {
        // Sealed before the keyring was exchanged, it would come behind a pass of `rewrap`.
        let place = SealedPlace.payload(notification.id, sender: notification.sender)
        let payload = try sealing.vault.renewed(notification.sealedPayload, in: place)
        let inserted = try db.run(
            prepared: """
                insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, collapse_id,
                    sequence, seed, created_at, expires_at, payload)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
                """,
            target.id,
            notification.sender,
            notification.isStoredByClients,
            notification.isReadOnce,
            notification.priority.rawValue,
            notification.collapseID,
            target.sequence,
            Int64.random(in: .min ... .max),
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload ?? notification.sealedPayload
        )
        return inserted == 1
    }

    private static func user(withKey key: Data, _ db: Database) throws -> Int64? {
        try db.first(prepared: "select id from user where name_key = ?", key) { $0.integer(0) }
    }

    /// Makes a user a recipient; `false` if that was so before.
    static func insertRecipient(
        _ user: Int64,
        of target: PushTarget,
        change: Int64,
        _ sealing: Sealing,
        _ db: Database,
        now: Date
    ) throws -> Bool {
        let inserted = try db.run(
            prepared: """
                insert into recipient (notification_id, user_id, change, changed_at, seal) values (?, ?, ?, ?, ?)
                on conflict (notification_id, user_id) do nothing
                """,
            target.id,
            user,
            change,
            now.milliseconds,
            sealing.rows.recipient(of: target.id, user: user)
        )
        guard inserted == 1 else { return false }
        if target.isReadOnce {
            try db.run(prepared: "insert into untaken (notification_id, user_id) values (?, ?)", target.id, user)
        }
        return true
    }
}

extension PushTarget {
    fileprivate init(_ notification: NewNotification, _ audience: HashedAudience, sequence: Int64) {
        self.init(
            id: notification.id.rawValue,
            sequence: sequence,
            collapseID: notification.collapseID,
            isReadOnce: notification.isReadOnce,
            expiresAt: notification.expiresAt,
            audience: audience
        )
    }
}
