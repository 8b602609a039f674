package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func settle(_ ended: [(LeasedDelivery, Settlement)], now: Date) async throws {
        try await self.writer.write(.delivery) { [writer, pusher] db in
            let settling = Settling(db: db, pusher: pusher, now: now)
            for (delivery, settlement) in ended {
                do {
                    try settling.settle(delivery, as: settlement)
                } catch let error as DatabaseError where !error.concernsAll {
                    // The row is damaged. The push counts as being sent until the next start, and
                    // the outcomes of the other pushes are stored.
                    let id = delivery.push.notification.rawValue
                    writer.condition.record(StoreError(error))
                    writer.condition.record(.settlement(notification: id, device: delivery.device))
                }
            }
        }
    }
}

private struct Settling {
    let db: Database
    let pusher: Pusher
    let now: Date

    func settle(_ delivery: LeasedDelivery, as settlement: Settlement) throws {
        switch settlement {
        case .accepted(let providerID):
            // The provider's id of the push is stored only if it differs from the `attemptID` that
            // this server has sent.
            let isOurs = providerID == delivery.push.attemptID.text
            let lane = try self.end(delivery, .accepted, providerID: isOurs ? nil : providerID)
            // If the device was deleted, its push was settled at that moment, and the device must
            // not get a new row. The time of a look (a push that only tells the device to sync) is
            // not stored, because a look does not delay the next notification.
            guard let lane, !Lane(stored: lane).isOfLooks else { return }
            try self.db.run(
                """
                insert into device_push (device, accepted_at) values (?, ?)
                on conflict (device) do update set accepted_at = excluded.accepted_at
                """,
                delivery.device,
                self.now.milliseconds
            )
        case .expired: try self.end(delivery, .expired)
        case .failed(let reason):
            if try self.hasMoved(delivery) {
                try self.requeue(delivery, dueAt: self.now, reason: reason)
            } else {
                try self.end(delivery, .failed, reason: reason)
            }
        case .retried(let due, let reason): try self.requeue(delivery, dueAt: due, reason: reason)
        case .away(let reason):
            // When the device connects, its waiting pushes become due. If it connects before this
            // push is stored as waiting, `isAnythingWaiting` finds the push afterwards.
            let state = delivery.state
            try self.requeue(delivery, dueAt: state.expiresAt, reason: reason, attempts: state.attempts - 1)
        case .moved(let reason): try self.requeue(delivery, dueAt: self.now, reason: reason)
        case .released: try self.requeue(delivery, dueAt: self.now, reason: nil, attempts: delivery.state.attempts - 1)
        }
    }

    // MARK: - Private

    /// Whether the device now has another address than the push's address; `false` for the push of
    /// a confirmation code.
    private func hasMoved(_ delivery: LeasedDelivery) throws -> Bool {
        guard let handle = DeviceHandle(delivery.push.handle) else { return false }
        let hasMoved = try self.db.first(
            """
            select v.handle_key <> \(self.pusher.sealing.index.hash(handle))
                or v.lane <> replace(d.lane, '\(sql: Lane.lookSuffix)', '')
            from device v
            join push d on d.notification_id = \(delivery.push.notification.rawValue) and d.device = v.number
            where v.number = \(delivery.device) and v.retired_at is null and v.claims_for is null
            """
        ) { try $0.flag() }
        return hasMoved == true
    }

    /// Settles a push. Returns its lane, or `nil` if it was already settled.
    @discardableResult
    private func end(
        _ delivery: LeasedDelivery,
        _ state: TallyState,
        reason: String? = nil,
        providerID: String? = nil
    ) throws -> String? {
        let lane = try self.db.first(
            """
            update push set state = ?, settled_at = ?, reason = ?, provider_id = ?
            where notification_id = ? and device = ? and settled_at is null
            returning lane
            """,
            state.rawValue,
            self.now.milliseconds,
            reason,
            providerID,
            delivery.push.notification.rawValue,
            delivery.device
        ) { try $0.text() }
        if let lane { self.pusher.notes.count(state, lane: lane) }
        return lane
    }

    private func requeue(_ delivery: LeasedDelivery, dueAt: Date, reason: String?, attempts: Int? = nil) throws {
        let (notification, device) = (delivery.push.notification.rawValue, delivery.device)
        let row = try self.db.first(
            """
            update push set
                state = case is_withdrawn when 1 then 'cancelled' else 'queued' end,
                settled_at = case is_withdrawn when 1 then \(self.now.milliseconds) end,
                reason = case is_withdrawn when 1 then reason else \(reason) end,
                due_at = \(dueAt.milliseconds), attempts = \(attempts ?? delivery.state.attempts)
            where notification_id = \(notification) and device = \(device) and state = 'sending'
                and attempts = \(delivery.state.attempts)
            returning lane, state
            """
        ) { try (lane: $0.text("lane"), state: $0.text("state")) }
        guard let row else { return }
        if row.state == TallyState.cancelled.rawValue { return self.pusher.notes.count(.cancelled, lane: row.lane) }
        let old = Lane(stored: row.lane).ofDevices.description
        let new = try self.db.first("select lane from device where number = \(device) and lane <> \(old)") {
            try $0.text()
        }
        guard let new else { return }
        let push = DuePush(notification: notification, device: device)
        try self.pusher.move(push, from: row.lane, to: new, self.db, now: self.now)
    }
}
