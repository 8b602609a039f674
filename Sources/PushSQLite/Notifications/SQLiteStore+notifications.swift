internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.pusher.sealing.index, self.pusher.tags)
    }

    package func post(
        _ posts: [NewNotification],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome] {
        let (pusher, page) = (self.pusher, page ?? AudienceWalk.page)
        guard let now = posts.first?.createdAt else { return [] }
        // For a single post, which is the usual case, the text of the audit entry is made before
        // the transaction begins.
        let draft = posts.count == 1 ? posts.first?.record.map(self.audit.draft) : nil
        let bytes = posts.reduce(0) { $0 + $1.sealedPayload.count }
        return try await self.writer.write(bytes: bytes) { [audit] db -> [PostOutcome] in
            var (posting, facts) = (Posting(posts, of: batch, within: bounds), PostSearch(db, now: now))
            while let plan = try posting.next(&facts) {
                posting.end(plan, try Self.store(plan, db, by: pusher, page: page))
            }
            let records = posting.records
            if let draft, !records.isEmpty {
                try audit.append(draft, to: db)
            } else {
                for record in records.merged { try audit.append(record, to: db) }
            }
            return posting.outcomes
        }
    }

    // MARK: - Private

    private static func store(
        _ plan: PostPlan,
        _ db: Database,
        by pusher: Pusher,
        page: Int
    ) throws -> PostOutcome {
        let notification = plan.post
        let target = PushTarget(notification, sequence: pusher.changes.next())
        guard try Self.insert(db, notification, target, pusher.sealing) else { return .idTaken }
        var made = (reach: Reach.none, hasWork: false)
        if let sendAt = notification.sendAt {
            try Self.schedule(notification, at: sendAt, sequence: target.sequence, pusher.sealing, db)
        } else {
            let now = notification.createdAt
            for user in plan.recipients {
                _ = try Self.insertRecipient(user, of: target, change: target.sequence, pusher.sealing, db, now: now)
            }
            made = try Self.enqueue(db, target, besides: plan.recipients, by: pusher, page: page, now: now)
        }
        for request in plan.requests { try Self.record(db, request, of: notification, made.reach) }
        return .stored(made.reach, hasWork: made.hasWork)
    }

    private static func insert(
        _ db: Database,
        _ notification: NewNotification,
        _ target: PushTarget,
        _ sealing: Sealing
    ) throws -> Bool {
        let (payload, alert) = try notification.renewed(by: sealing.vault)
        let inserted = try db.run(
            prepared: """
                insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id,
                    sequence, seed, created_at, expires_at, payload, alert, is_end_to_end)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
                """,
            target.id,
            notification.sender,
            notification.audience.audience.app.stored,
            notification.isStoredByClients,
            notification.isReadOnce,
            notification.priority.rawValue,
            notification.collapseID,
            target.sequence,
            notification.seed,
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload,
            alert,
            notification.isEndToEnd
        )
        return inserted == 1
    }

    /// Makes a user a recipient. Returns `false` if the user already was one, or must not get the
    /// payload.
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
                insert into recipient (notification_id, user_id, change, changed_at, mac)
                select ?1, ?2, ?3, ?4, ?5 where ?6 or not (select requires_encryption from user where id = ?2)
                on conflict (notification_id, user_id) do nothing
                """,
            target.id,
            user,
            change,
            now.milliseconds,
            sealing.rows.recipient(of: target.id, user: user),
            target.isForAll
        )
        guard inserted == 1 else { return false }
        if target.isReadOnce {
            try db.run(prepared: "insert into untaken (notification_id, user_id) values (?, ?)", target.id, user)
        }
        return true
    }
}
