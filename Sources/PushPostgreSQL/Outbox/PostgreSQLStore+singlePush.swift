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

extension WriteTransaction {
    /// The state of a push, and its lane. Locks the push's row, so that no server leases or ends
    /// the push meanwhile.
    fileprivate func standing(_ notification: Int64, device: Int64) async throws -> (PushStanding, lane: String)? {
        if let row = try await self.query(Self.lockOne, notification, device).first {
            let lane = try row.text(3)
            if try row.boolean(0) { return (.sending(isCancelled: try row.boolean(1)), lane) }
            return (.waiting(until: try row.optionalInteger(2).map(Date.init(milliseconds:))), lane)
        }
        // Each statement has its own snapshot. So this statement sees the push if it ended while
        // the previous statement waited for the lock.
        guard let row = try await self.query(Self.findEnd, notification, device).first else { return nil }
        return (.ended(DeliveryStage(rawValue: try row.text(0)) ?? .failed), try row.text(1))
    }

    static let lockOne = """
        select owner is not null, is_withdrawn, due_at, lane from push
        where notification_id = $1 and device = $2 for update
        """
    static let findEnd = "select state, lane from push_end where notification_id = $1 and device = $2"
}
