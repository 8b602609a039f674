internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.pusher.sealing.index, self.pusher.tags)
    }

    package func post(_ request: PostRequest) async throws -> [PostOutcome] {
        let (posts, page) = (request.posts, request.page ?? AudienceWalk.page)
        guard let now = posts.first?.createdAt else { return [] }
        // The operator must restore a backup, which would not have this post.
        if let damage = self.writer.condition.damage { throw damage }
        // For a single post, which is the usual case, the text of the audit entry is made before
        // the transaction begins.
        let draft = posts.count == 1 ? posts.first?.record.map(self.audit.chain.draft) : nil
        let bytes = posts.reduce(0) { $0 + $1.sealedPayload.count }
        return try await self.writer.write(bytes: bytes) { db -> [PostOutcome] in
            var (posting, facts) = (Posting(request), PostSearch(db, now: now))
            while let plan = try posting.next(&facts) {
                posting.end(plan, try self.store(plan, page: page, db))
            }
            let records = posting.records
            if let draft, !records.isEmpty {
                try self.audit.append(draft, to: db)
            } else {
                try self.audit.append(records.merged, to: db)
            }
            return posting.outcomes
        }
    }

    // MARK: - Private

    private func store(_ plan: PostPlan, page: Int, _ db: Database) throws -> (reach: Reach, hasWork: Bool)? {
        let notification = plan.post
        let target = PushTarget(notification, sequence: self.changes.next())
        guard try self.insert(notification, target, db) else { return nil }
        var made = (reach: Reach.none, hasWork: false)
        if let sendAt = notification.options.sendAt {
            try self.pusher.schedule(notification, at: sendAt, sequence: target.sequence, db)
        } else {
            let now = notification.createdAt
            for user in plan.recipients {
                _ = try self.pusher.addRecipient(user, of: target, change: target.sequence, db, now: now)
            }
            made = try self.pusher.enqueue(target, besides: plan.recipients, page: page, db, now: now)
        }
        for request in plan.requests { try self.record(request, of: notification, made.reach, db) }
        return made
    }

    private func insert(_ notification: NewNotification, _ target: PushTarget, _ db: Database) throws -> Bool {
        let (payload, alert) = try notification.renewed(by: self.vault)
        let inserted = try db.run(
            """
            insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id,
                sequence, seed, created_at, expires_at, payload, alert, is_end_to_end)
            values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing
            """,
            target.id,
            notification.sender,
            notification.audience.audience.app.stored,
            notification.options.isStoredByClients,
            notification.options.isReadOnce,
            notification.options.priority.rawValue,
            notification.options.collapseID,
            target.sequence,
            notification.seed,
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload,
            alert,
            notification.options.isEndToEnd
        )
        return inserted == 1
    }

    /// Stores an idempotency key in the same transaction as its notification. So neither is stored
    /// without the other.
    private func record(_ request: IdempotentRequest, of post: NewNotification, _ reach: Reach, _ db: Database) throws {
        let stored = StoredRequest(request, of: post, reach)
        try db.run(
            """
            insert or replace into idempotency (key, \(sql: StoredRequest.columns))
            values (\(request.key), \(stored.request), \(stored.notification), \(stored.createdAt),
                \(stored.expiresAt), \(stored.recipients), \(stored.pushes))
            """
        )
    }
}

extension Pusher {
    /// Makes a user a recipient. Returns `false` if the user already was one, or must not get the
    /// payload.
    func addRecipient(_ user: Int64, of target: PushTarget, change: Int64, _ db: Database, now: Date) throws -> Bool {
        let inserted = try db.run(
            """
            insert into recipient (notification_id, user_id, change, changed_at, mac)
            select ?1, ?2, ?3, ?4, ?5 where ?6 or not (select requires_encryption from account where id = ?2)
            on conflict (notification_id, user_id) do nothing
            """,
            target.id,
            user,
            change,
            now.milliseconds,
            self.sealing.rows.recipient(of: target.id, user: user),
            target.isForAll
        )
        guard inserted == 1 else { return false }
        if target.isReadOnce {
            try db.run("insert into untaken (notification_id, user_id) values (?, ?)", target.id, user)
        }
        return true
    }
}
