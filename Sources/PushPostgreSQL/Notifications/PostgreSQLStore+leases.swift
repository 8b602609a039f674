package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

/// Read-once payloads: the first fetch leases them, and they are erased when no recipient waits
/// for them.
extension PostgreSQLStore {
    package func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease {
        try await self.write { tx in
            let row = try await tx.query(
                Self.leasePayload,
                id.rawValue,
                user,
                end.milliseconds,
                now.milliseconds
            ).first
            guard let row, try row.boolean(1) else {
                return try await Self.isLeased(id, to: user, tx, now: now) ? .held : .refused
            }
            if try row.boolean(2) { tx.record(.collected(id.rawValue, by: user, at: now, sender: try row.integer(0))) }
            if let record { tx.append(record) }
            return .granted
        }
    }

    /// Locks the recipient's row first, like all transactions that change both rows. The second of
    /// two leases finds the first.
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
        select n.sender_id, exists (select 1 from w), exists (select 1 from f) from notification n where n.id = $1
        """

    package func take(
        _ id: NotificationID,
        by user: Int64,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome {
        try await self.write { tx in
            let first = try await Self.outcome(ofTaking: id, by: user, tx, now: now)
            guard first == .taken else { return first }
            let numbers = try await tx.changes(ofUsers: [user])
            // Another transaction may have ended the lease before this one locked the user's row.
            let outcome = try await Self.outcome(ofTaking: id, by: user, tx, now: now)
            guard outcome == .taken else { return outcome }
            let recipient = RecipientKey(notification: id.rawValue, user: user)
            try await Self.endLeases(tx, [recipient], numbers, now: now)
            if let record { tx.append(record) }
            return .taken
        }
    }

    package func endLeases(now: Date, limit: Int) async throws -> Date? {
        try await self.write { tx in
            // The extra row gives the end of the next lease.
            let leases = try await tx.query(Self.nextLeases, limit + 1).map { row in
                (key: RecipientKey(notification: try row.integer(0), user: try row.integer(1)), end: try row.integer(2))
            }
            let ended = leases.prefix(limit).prefix { $0.end <= now.milliseconds }
            let keys = ended.map(\.key).sorted()
            let counts = Dictionary(keys.map { ($0.user, 1) }, uniquingKeysWith: +)
            try await Self.endLeases(tx, keys, try await tx.numbers(counts), now: now)
            return leases.dropFirst(ended.count).first.map { Date(milliseconds: $0.end) }
        }
    }

    static let nextLeases = """
        select notification_id, user_id, leased_until from untaken where leased_until is not null
        order by leased_until limit $1
        """

    // MARK: - Private

    private static func isLeased(
        _ id: NotificationID,
        to user: Int64,
        _ tx: WriteTransaction,
        now: Date
    ) async throws -> Bool {
        try await tx.query(
            """
            select 1 from untaken w join notification n on n.id = w.notification_id
            where w.notification_id = $1 and w.user_id = $2 and w.leased_until > $3
                and n.expires_at > $3 and n.payload is not null
            """,
            id.rawValue,
            user,
            now.milliseconds
        ).count > 0
    }

    private static func outcome(
        ofTaking id: NotificationID,
        by user: Int64,
        _ tx: WriteTransaction,
        now: Date
    ) async throws -> TakeOutcome {
        let row = try await tx.query(
            """
            select n.is_read_once, n.payload is not null, r.dismissed_at is not null, r.fetched_at is not null,
                w.leased_until is not null
            from notification n join recipient r on r.notification_id = n.id and r.user_id = $2
            left join untaken w on w.notification_id = n.id and w.user_id = $2
            where n.id = $1 and n.expires_at > $3
            """,
            id.rawValue,
            user,
            now.milliseconds
        ).first
        guard let row else { return .missing }
        let (isReadOnce, isDismissed) = (try row.boolean(0), try row.boolean(2))
        // A user who dismissed it without a fetch has never had the payload.
        if isReadOnce, isDismissed { return try row.boolean(3) ? .takenBefore : .missing }
        guard try row.boolean(1), !isDismissed else { return .missing }
        guard isReadOnce else { return .notReadOnce }
        return try row.boolean(4) ? .taken : .notFetched
    }

    /// Ends leases. Each user's leases get the number drawn for the user and the numbers that
    /// follow, in the order of `leases`.
    private static func endLeases(
        _ tx: WriteTransaction,
        _ leases: [RecipientKey],
        _ numbers: [Int64: Int64],
        now: Date
    ) async throws {
        if leases.isEmpty { return }
        var next = numbers
        var changes: [Int64] = []
        for lease in leases {
            let number = try Self.number(of: lease.user, in: next)
            changes.append(number)
            next[lease.user] = number + 1
        }
        // If a notification was recalled or has expired meanwhile, the user sees that instead.
        let notified = try await tx.query(
            """
            with l as (
                select r.notification_id, r.user_id, t.change
                from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, change)
                join recipient r on \(RecipientKey.lookup.equality("r", "t"))
                where r.dismissed_at is null order by r.notification_id, r.user_id for no key update of r)
            update recipient r set dismissed_at = $4, change = l.change, changed_at = $4 from l
            where \(RecipientKey.lookup.equality("r", "l"))
                and (select n.expires_at > $4 and n.payload is not null from notification n where n.id = l.notification_id)
            returning r.notification_id, r.user_id
            """,
            leases.map(\.notification),
            leases.map(\.user),
            changes,
            now.milliseconds
        ).map { RecipientKey(notification: try $0.integer(0), user: try $0.integer(1)) }
        try await Self.cancelPushes(tx, to: notified.sorted(), reason: PushReason.taken, now: now)
        try await Self.recordTaken(tx, leases)
    }
}

extension NewEvent {
    /// A recipient has fetched a payload for the first time.
    static func collected(_ notification: Int64, by user: Int64, at time: Date, sender: Int64?) -> NewEvent {
        NewEvent(
            kind: .collected,
            at: time,
            notification: notification,
            device: nil,
            user: user,
            lane: nil,
            sender: sender,
            reason: nil
        )
    }
}
