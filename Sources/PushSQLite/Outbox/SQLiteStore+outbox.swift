package import Foundation
internal import GRDB
internal import PushCore
package import PushStore

extension SQLiteStore {
    package func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery] {
        try await self.writer.write(.delivery) { [writer, sealing] db in
            var leased: [LeasedDelivery] = []
            var tally = TallyCount()
            for key in try DueDelivery.keys(db, request, now: now) {
                do {
                    guard
                        let delivery = try DueDelivery.fetch(db, key, isPaced: request.interval != nil, sealing),
                        let own = try Self.lease(delivery, request, db, &tally, now: now)
                    else { continue }
                    leased.append(own)
                } catch let error as DatabaseError where !error.concernsAll {
                    // What is damaged must not stop the others, nor be met again by the next lease.
                    try DueDelivery.settle(key, db, as: .failed, reason: "the row is damaged", now: now)
                    tally.add(.failed, lane: request.lane.description)
                    writer.noteSetAside(.push(notification: key.notification, device: key.device))
                }
            }
            try tally.write(db)
            return leased
        }
    }

    private static func lease(
        _ delivery: DueDelivery,
        _ request: LeaseRequest,
        _ db: Database,
        _ tally: inout TallyCount,
        now: Date
    ) throws -> LeasedDelivery? {
        // An address at another provider must never be shown to this one.
        if let lane = delivery.lane, lane != request.lane.description {
            try Self.move(
                db,
                notification: delivery.notification,
                device: delivery.device,
                from: request.lane.description,
                to: lane,
                now: now,
                &tally
            )
            return nil
        }
        switch try delivery.decision(db, interval: request.interval, now: now) {
        case .send(let push):
            try db.run(
                prepared: """
                    update delivery set state = 'sending', attempts = attempts + 1 where notification_id = ? and device = ?
                    """,
                delivery.notification,
                delivery.device
            )
            let state = DeliveryState(attempts: delivery.attempts &+ 1, expiresAt: push.expiresAt)
            return LeasedDelivery(device: delivery.device, user: delivery.user, push: push, state: state)
        case .wait(let date):
            // Told apart by the reason: such a one is not needed any more once the device has fetched.
            try delivery.postpone(db, until: date, reason: Self.paced)
        case .settle(let state, let reason):
            try delivery.settle(db, as: state, reason: reason, now: now)
            tally.add(state, lane: request.lane.description)
        }
        return nil
    }

    /// Why a push waits for the time of its device.
    static let paced = "the device was woken a short time ago"

    package func reclaimLeases(now: Date) async throws {
        try await self.writer.write(.delivery) { db in
            _ = try db.run(prepared: Self.reclaim, now.milliseconds)
        }
    }

    static let reclaim = """
        update delivery indexed by delivery_by_lease set state = 'queued', due_at = ? where state = 'sending'
        """
}
