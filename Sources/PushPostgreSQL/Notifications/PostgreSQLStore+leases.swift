package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

/// The leases of read-once payloads. A recipient's first fetch leases the payload; it is erased
/// when no recipient waits for it any more.
extension PostgreSQLStore {
    package func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease {
        try await self.write { tx in
            let row = try await tx.query(Self.leasePayload, id.rawValue, user, end.milliseconds, now.milliseconds).first
            guard let row, try row.flag("is_leased") else {
                return try await tx.state(of: id, for: user, now: now).leased(now)
            }
            let sender = try row.integer("sender_id")
            if try row.flag("is_first") { tx.record(.collected(id.rawValue, by: user, at: now, sender: sender)) }
            if let record { tx.append(record) }
            return .granted
        }
    }

    /// Leases a payload to a recipient. Locks the row of `recipient` first, like all transactions
    /// that change both `recipient` and `untaken`. If two requests lease at the same time, the
    /// second one finds the lease of the first.
    static let leasePayload = """
        with r as (select 1 from recipient where notification_id = $1 and user_id = $2 for no key update),
        w as (
            update untaken set leased_until = $3
            where notification_id = $1 and user_id = $2 and leased_until is null and exists (select 1 from r)
                and exists (select 1 from notification where id = $1 and expires_at > $4 and payload is not null)
            returning notification_id, user_id),
        f as (
            update recipient r set fetched_at = $4 from w
            where r.notification_id = w.notification_id and r.user_id = w.user_id and r.fetched_at is null
            returning r.user_id)
        select n.sender_id, exists (select 1 from w) as is_leased, exists (select 1 from f) as is_first
        from notification n where n.id = $1
        """

    package func take(
        _ id: NotificationID,
        by user: Int64,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome {
        try await self.write { tx in
            let first = try await tx.state(of: id, for: user, now: now).taking
            guard first == .taken else { return first }
            let numbers = try await tx.changes(ofUsers: [user])
            // Another transaction may have ended the lease before this transaction locked the
            // user's row.
            let outcome = try await tx.state(of: id, for: user, now: now).taking
            guard outcome == .taken else { return outcome }
            let recipient = RecipientKey(id.rawValue, user)
            _ = try await tx.hide([recipient], numbers, reason: PushReason.taken, now: now)
            try await tx.recordTaken([recipient])
            if let record { tx.append(record) }
            return outcome
        }
    }

    package func endLeases(now: Date, limit: Int) async throws -> Date? {
        let book = self.options.lookBook
        return try await self.write { tx in
            // The query requests one lease more than `limit`: the end of the additional lease says
            // when this function must be called again.
            let leases = try await tx.query(Self.nextLeases, limit + 1).map { row in
                let (key, end) = (try RecipientKey(row), try row.integer("leased_until"))
                return (key: key, end: end, app: AppName(stored: try row.optionalText("app")))
            }
            let ended = leases.prefix(limit).prefix { $0.end <= now.milliseconds }
            let keys = ended.map(\.key).sorted()
            // Each user gets as many numbers as the user with the most leases needs.
            let most = Dictionary(grouping: keys, by: \.user).values.map(\.count).max() ?? 1
            let numbers = try await tx.changes(ofUsers: keys.map(\.user), each: most)
            _ = try await tx.hide(keys, numbers, reason: PushReason.taken, now: now)
            try await tx.recordTaken(keys)
            tx.afterCommit { for lease in ended { book.record(LookOrder(user: lease.key.user, app: lease.app)) } }
            return leases.dropFirst(ended.count).first.map { Date(milliseconds: $0.end) }
        }
    }

    static let nextLeases = """
        select notification_id, user_id, leased_until, (select n.app from notification n where n.id = notification_id) as app
        from untaken where leased_until is not null
        order by leased_until limit $1
        """
}
