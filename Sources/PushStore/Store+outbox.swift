package import Foundation
internal import GRDB
package import PushCore

/// A push that this process has leased: nobody else sends it until the lease ends.
package struct LeasedDelivery: Sendable, Hashable {
    package let id: Int64
    package let device: String
    package let push: Push
    package let state: DeliveryState
}

extension Reader {
    /// When the next push of a sender is due, leases that may run out included.
    package func nextDue(for platform: Platform) throws(StoreError) -> Date? {
        try self.read { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        select due_at from delivery where platform = ? and state in ('queued', 'sending')
                        order by due_at limit 1
                        """
                ),
                arguments: [platform.description]
            ).map(Date.init(milliseconds:))
        }
    }
}

extension Store {
    /// Leases the pushes of a sender that are due, oldest first. A lease that ended without an answer is due again.
    package func claim(
        for platform: Platform,
        now: Date,
        lease: Duration,
        limit: Int
    ) async throws -> [LeasedDelivery] {
        let until = now.milliseconds + lease.components.seconds * 1000
        return try await self.writer.write { db in
            let claimed = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        update delivery set state = 'sending', attempts = attempts + 1, due_at = ?4
                        where id in (
                            select id from delivery
                            where platform = ?1 and state in ('queued', 'sending') and due_at <= ?2
                            order by due_at limit ?3)
                        returning id, notification_id, device_id, attempt_id, attempts
                        """
                ),
                arguments: [platform.description, now.milliseconds, limit, until]
            )
            return try claimed.compactMap { try LeasedDelivery(db, claimed: $0) }
        }
    }

    /// Makes due at once what was on its way when the last process ended: nobody else can be sending it.
    package func reclaimLeases(now: Date) async throws {
        try await self.writer.write { db in
            try db.execute(
                sql: "update delivery set state = 'queued', due_at = ? where state = 'sending'",
                arguments: [now.milliseconds]
            )
        }
    }

    package enum Settlement: Sendable, Hashable {
        case accepted(providerID: String?)
        case expired
        case failed(reason: String)
        case retried(at: Date, reason: String)
    }

    /// Writes down how a try ended. What was cancelled meanwhile stays so.
    package func settle(_ delivery: LeasedDelivery, as settlement: Settlement, now: Date) async throws {
        try await self.writer.write { db in
            switch settlement {
            case .accepted(let providerID):
                try Self.settle(db, delivery, "accepted", reason: nil, providerID: providerID, now: now)
                try db.cachedStatement(sql: "update device set pushed_at = ? where id = ?")
                    .execute(arguments: [now.milliseconds, delivery.device])
            case .expired:
                try Self.settle(db, delivery, "expired", reason: nil, providerID: nil, now: now)
            case .failed(let reason):
                try Self.settle(db, delivery, "failed", reason: reason, providerID: nil, now: now)
            case .retried(let due, let reason):
                try db.cachedStatement(
                    sql: """
                        update delivery set state = 'queued', due_at = ?, reason = ?
                        where id = ? and state = 'sending' and attempts = ?
                        """
                ).execute(arguments: [due.milliseconds, reason, delivery.id, delivery.state.attempts])
            }
        }
    }

    private static func settle(
        _ db: Database,
        _ delivery: LeasedDelivery,
        _ state: String,
        reason: String?,
        providerID: String?,
        now: Date
    ) throws {
        try db.cachedStatement(
            sql: """
                update delivery set state = ?, reason = ?, provider_id = ?, settled_at = ?
                where id = ? and state in ('queued', 'sending')
                """
        ).execute(arguments: [state, reason, providerID, now.milliseconds, delivery.id])
    }
}

extension LeasedDelivery {
    fileprivate init?(_ db: Database, claimed: Row) throws {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    select d.handle, n.expires_at, n.priority, n.collapse_key
                    from device d, notification n where d.id = ? and n.id = ?
                    """
            ),
            arguments: [claimed["device_id"], claimed["notification_id"]]
        )
        guard
            let row, let handle = row["handle"] as String?,
            let notification = NotificationID(rawValue: claimed["notification_id"]),
            let attemptID = UUID(uuidString: claimed["attempt_id"]),
            let priority = Push.Priority(rawValue: row["priority"])
        else { return nil }
        let expiresAt = Date(milliseconds: row["expires_at"])
        self.id = claimed["id"]
        self.device = claimed["device_id"]
        self.push = Push(
            notification: notification,
            handle: handle,
            attemptID: attemptID,
            expiresAt: expiresAt,
            priority: priority,
            sharedCollapseID: row["collapse_key"]
        )
        self.state = DeliveryState(attempts: claimed["attempts"], expiresAt: expiresAt)
    }
}
