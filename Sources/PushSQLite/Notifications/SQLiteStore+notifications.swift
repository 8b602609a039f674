internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.pusher.sealing.index, self.pusher.tags)
    }

    package func post(
        _ posts: [NewPost],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome] {
        let (pusher, page) = (self.pusher, page ?? AudienceWalk.page)
        // For the usual single post, the text of its entry is made before the writer runs.
        let draft = posts.count == 1 ? posts.first?.record.map(self.audit.draft) : nil
        let bytes = posts.reduce(0) { $0 + $1.notification.sealedPayload.count }
        return try await self.writer.write(bytes: bytes) { [audit] db -> [PostOutcome] in
            var isNoted = batch == nil
            if let batch, let first = posts.first?.notification,
                let earlier = try Self.earlierOutcome(db, of: batch, now: first.createdAt)
            {
                guard earlier != .keyReused else { return posts.map { _ in .keyReused } }
                isNoted = true
            }
            var outcomes: [PostOutcome] = []
            var users = UserSearch()
            outcomes.reserveCapacity(posts.count)
            for post in posts {
                // Later ones are not stored, so that the caller can store all in their order.
                guard outcomes.last != .idTaken else {
                    outcomes.append(.idTaken)
                    continue
                }
                let outcome = try Self.store(post, db, by: pusher, to: &users, within: bounds, page: page)
                if !isNoted, let batch, case .stored(let reach, _) = outcome {
                    try Self.record(db, batch, of: post.notification, reach)
                    isNoted = true
                }
                outcomes.append(outcome)
            }
            let stored = zip(posts, outcomes).filter { if case .stored = $0.1 { true } else { false } }.map(\.0)
            if let draft, !stored.isEmpty {
                try audit.append(draft, to: db)
            } else {
                for record in stored.compactMap(\.record).merged { try audit.append(record, to: db) }
            }
            return outcomes
        }
    }

    /// Stores one notification. It refuses before it writes anything, so that a refusal leaves
    /// nothing to roll back.
    private static func store(
        _ post: NewPost,
        _ db: Database,
        by pusher: Pusher,
        to users: inout UserSearch,
        within bounds: StorageBounds?,
        page: Int
    ) throws -> PostOutcome {
        let (notification, now) = (post.notification, post.notification.createdAt)
        if let request = post.request, let earlier = try Self.earlierOutcome(db, of: request, now: now) {
            return earlier
        }
        if let bounds,
            let excess = try bounds.excess(db, of: notification.sender, adding: notification.sealedPayload.count)
        {
            return .tooMuch(excess)
        }
        var recipients: Set<Int64> = []
        for user in post.audience.users {
            guard let id = try users.user(withKey: user.key, of: notification.audience.app, db) else {
                return .unknownUser(user.name)
            }
            recipients.insert(id)
        }
        let target = PushTarget(post, sequence: pusher.changes.next())
        guard try Self.insert(db, post, target, pusher.sealing) else { return .idTaken }
        let made: (reach: Reach, hasWork: Bool)
        if let sendAt = notification.sendAt {
            try Self.schedule(notification, at: sendAt, sequence: target.sequence, pusher.sealing, db)
            made = (Reach(recipients: 0, pushes: 0, isComplete: false), false)
        } else {
            for user in recipients {
                _ = try Self.insertRecipient(user, of: target, change: target.sequence, pusher.sealing, db, now: now)
            }
            made = try Self.enqueue(db, target, besides: recipients, by: pusher, page: page, now: now)
        }
        if let request = post.request { try Self.record(db, request, of: notification, made.reach) }
        return .stored(made.reach, hasWork: made.hasWork)
    }

    // MARK: - Private

    private static func insert(
        _ db: Database,
        _ post: NewPost,
        _ target: PushTarget,
        _ sealing: Sealing
    ) throws -> Bool {
        let notification = post.notification
        let (payload, alert) = try post.renewed(by: sealing.vault)
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
            post.seed,
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload,
            alert
        )
        return inserted == 1
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
