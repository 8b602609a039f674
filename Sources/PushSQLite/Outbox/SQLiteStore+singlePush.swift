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
            let found = try db.first(
                prepared: Self.find,
                push.device.description,
                push.notification.rawValue,
                now.milliseconds,
                push.sender
            ) { (device: $0.integer(0), standing: Self.standing($0)) }
            guard let found else { return .missing }
            let outcome = change.outcome(for: found.standing, now: now)
            guard outcome == .done else { return outcome }
            let (id, device) = (push.notification.rawValue, found.device)
            switch change {
            case .cancel:
                try Self.cancel(
                    db,
                    where: "notification_id = \(id) and device = \(device)",
                    reason: PushReason.cancelled,
                    now: now
                )
            case .hasten:
                try db.run(
                    prepared: """
                        update delivery set due_at = ? where notification_id = ? and device = ? and state = 'queued'
                        """,
                    now.milliseconds,
                    id,
                    device
                )
            }
            return .done
        } recording: {
            $0 == .done ? record : nil
        }
    }

    // MARK: - Private

    private static func standing(_ row: borrowing DirectRow) -> PushStanding {
        switch row.text(1) {
        case "queued": .waiting(until: row.date(3))
        case "sending": .sending(isCancelled: row.integer(2) != 0)
        case let state: .ended(DeliveryStage(rawValue: state) ?? .failed)
        }
    }

    private static let find = """
        select d.device, d.state, d.is_withdrawn, d.due_at
        from notification n join device v on v.id = ?1 join delivery d on d.notification_id = n.id and d.device = v.number
        where n.id = ?2 and n.expires_at > ?3 and n.recalled_at is null and (?4 is null or n.sender_id = ?4)
        """
}
