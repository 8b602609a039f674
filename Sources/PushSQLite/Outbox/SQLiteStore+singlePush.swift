package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome {
        try await self.write { db in
            guard let row = try Row.fetchOne(db, Self.find(push, now: now)) else { return .missing }
            let outcome = change.outcome(for: try Self.standing(row), now: now)
            guard outcome == .done else { return outcome }
            let (id, device): (Int64, Int64) = (push.notification.rawValue, try row["device"])
            switch change {
            case .cancel:
                try Self.cancel(
                    db,
                    where: "notification_id = \(id) and device = \(device)",
                    reason: PushReason.cancelled,
                    now: now
                )
            case .hasten:
                try db.execute(
                    literal: """
                        update delivery set due_at = \(now.milliseconds)
                        where notification_id = \(id) and device = \(device) and state = 'queued'
                        """
                )
            }
            return .done
        } recording: {
            $0 == .done ? record : nil
        }
    }

    // MARK: - Private

    private static func standing(_ row: Row) throws -> PushStanding {
        switch try row["state"] as String {
        case "queued": .waiting(until: try (row["due_at"] as Int64?).map(Date.init(milliseconds:)))
        case "sending": .sending(isCancelled: try row["is_withdrawn"])
        case let state: .ended(DeliveryStage(rawValue: state) ?? .failed)
        }
    }

    private static func find(_ push: SinglePush, now: Date) -> SQL {
        """
        select d.device, d.state, d.is_withdrawn, d.due_at
        from notification n join device v on v.id = \(push.device.description)
            join delivery d on d.notification_id = n.id and d.device = v.number
        where n.id = \(push.notification.rawValue) and n.expires_at > \(now.milliseconds) and n.recalled_at is null
            and (\(push.sender) is null or n.sender_id = \(push.sender))
        """
    }
}
