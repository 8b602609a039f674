package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome {
        let (outcome, lane) = try await self.write { tx -> (PushChangeOutcome, String) in
            let (id, name) = (push.notification.rawValue, push.device.description)
            guard let number = try await tx.query(Self.findDevice, id, name, now.milliseconds, push.sender).first else {
                return (.missing, "")
            }
            let device = try number.integer(0)
            guard let (standing, lane) = try await tx.standing(id, device: device) else { return (.missing, "") }
            let outcome = change.outcome(for: standing, now: now)
            guard outcome == .done else { return (outcome, lane) }
            switch change {
            case .cancel:
                let pushes = [DuePush(notification: id, device: device)]
                try await tx.cancel(pushes, reason: PushReason.cancelled, now: now)
            case .hasten: _ = try await tx.query(Self.hasten, id, device, now.milliseconds)
            }
            if let record { tx.append(record) }
            return (.done, lane)
        }
        // The device's event stream may be at another server. In this case, that server must send
        // the push.
        if outcome == .done, change == .hasten { self.membership.announce(workIn: [lane]) }
        return outcome
    }

    static let findDevice = """
        select d.number from notification n join device d on d.id = $2
        where n.id = $1 and n.expires_at > $3 and n.recalled_at is null and ($4::int8 is null or n.sender_id = $4)
        """
    static let hasten = "update push set due_at = $3 where notification_id = $1 and device = $2 and owner is null"
}
