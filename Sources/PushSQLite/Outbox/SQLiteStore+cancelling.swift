package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    /// Cancels the pushes that satisfy the condition and are not settled.
    ///
    /// A push that is being sent cannot be stopped. It is not retried, and the provider's answer
    /// decides whether it counts as accepted.
    static func cancel(_ db: Database, where condition: SQL, reason: String, now: Date) throws {
        try db.run(
            """
            update push set is_withdrawn = 1, reason = \(reason)
            where settled_at is null and state = 'sending' and \(condition)
            """
        )
        let lanes = try db.all(
            """
            update push set state = 'cancelled', settled_at = \(now.milliseconds), reason = \(reason)
            where settled_at is null and state = 'queued' and \(condition)
            returning lane
            """
        ) { try $0.text() }
        var tally = TallyCount()
        for lane in lanes { tally.add(.cancelled, lane: lane) }
        try tally.write(db)
    }

    static func cancel(_ push: DuePush, reason: String, _ db: Database, now: Date) throws {
        let condition: SQL = "notification_id = \(push.notification) and device = \(push.device)"
        try Self.cancel(db, where: condition, reason: reason, now: now)
    }
}

extension SQLiteStore {
    package func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome {
        try await self.write(by: record, on: .done) { db in
            let found = try db.first(
                """
                select d.device, d.state, d.is_withdrawn, d.due_at
                from notification n join device v on v.id = \(push.device.description)
                join push d on d.notification_id = n.id and d.device = v.number
                where n.id = \(push.notification.rawValue) and n.expires_at > \(now.milliseconds)
                    and n.recalled_at is null and (\(push.sender) is null or n.sender_id = \(push.sender))
                """
            ) { try (device: $0.integer("device"), standing: Self.standing($0)) }
            let outcome = change.outcome(for: found?.standing, now: now)
            guard outcome == .done, let found else { return outcome }
            let key = DuePush(notification: push.notification.rawValue, device: found.device)
            switch change {
            case .cancel: try Self.cancel(key, reason: PushReason.cancelled, db, now: now)
            case .hasten:
                try db.run(
                    """
                    update push set due_at = \(now.milliseconds)
                    where notification_id = \(key.notification) and device = \(key.device) and state = 'queued'
                    """
                )
            }
            return outcome
        }
    }

    // MARK: - Private

    private static func standing(_ row: borrowing DirectRow) throws -> PushStanding {
        switch try row.text("state") {
        case "queued": .waiting(until: try row.optionalDate("due_at"))
        case "sending": .sending(isCancelled: try row.flag("is_withdrawn"))
        case let state: .ended(DeliveryStage(rawValue: state) ?? .failed)
        }
    }
}
