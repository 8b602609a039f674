internal import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteStore {
    package func post(
        _ notification: NewNotification,
        once request: IdempotentRequest?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> PostOutcome {
        let (pusher, page) = (self.pusher, page ?? Self.fanoutPage)
        let audience = HashedAudience(notification.audience, pusher.sealing.index, pusher.tags)
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
            // Before anything is written, so that a wrong name leaves nothing to roll back.
            var recipients: Set<Int64> = []
            for user in audience.users {
                guard let id = try Self.user(withKey: user.key, of: audience.audience.app, db) else {
                    return .unknownUser(user.name)
                }
                recipients.insert(id)
            }
            let target = PushTarget(notification, audience, sequence: pusher.changes.next())
            guard try Self.insert(db, notification, target, pusher.sealing) else { return .idTaken }
            let now = notification.createdAt
            for user in recipients {
                _ = try Self.insertRecipient(user, of: target, change: target.sequence, pusher.sealing, db, now: now)
            }
            let made = try Self.enqueue(db, target, besides: recipients, by: pusher, page: page, now: now)
            if let request { try Self.note(db, request, of: notification, made.reach) }
            if let draft { try audit.append(draft, to: db) }
            return .stored(made.reach, hasWork: made.hasWork)
        }
    }

    // MARK: - Private

    private static func insert(
        _ db: Database,
        _ notification: NewNotification,
        _ target: PushTarget,
        _ sealing: Sealing
    ) throws -> Bool {
        // What was sealed before the keyring was exchanged might be stored after the pass of `rewrap`.
        let place = SealedPlace.payload(notification.id, sender: notification.sender)
        let payload = try sealing.vault.renewed(notification.sealedPayload, in: place)
        let alert = try notification.sealedAlert.flatMap { sealed in
            try sealing.vault.renewed(sealed, in: .alert(notification.id, sender: notification.sender))
        }
        let inserted = try db.run(
            prepared: """
                insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id,
                    sequence, seed, created_at, expires_at, payload, alert)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
                """,
            target.id,
            notification.sender,
            notification.audience.app.stored,
            notification.isStoredByClients,
            notification.isReadOnce,
            notification.priority.rawValue,
            notification.collapseID,
            target.sequence,
            Int64.random(in: .min ... .max),
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload ?? notification.sealedPayload,
            alert ?? notification.sealedAlert
        )
        return inserted == 1
    }

    private static func user(withKey key: Data, of app: AppName, _ db: Database) throws -> Int64? {
        let user = try db.first(prepared: "select id, apps from user where name_key = ?", key) {
            (id: $0.integer(0), apps: $0.optionalText(1))
        }
        guard let user, Set(storedApps: user.apps).contains(app) else { return nil }
        return user.id
    }

    /// Makes a user a recipient; `false` if the user was one before.
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
                insert into recipient (notification_id, user_id, change, changed_at, mac) values (?, ?, ?, ?, ?)
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
