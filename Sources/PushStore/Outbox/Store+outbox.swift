package import Foundation
internal import GRDB
package import PushCore

/// A push that this process has leased: it is nobody else's until it is settled or the process ends.
package struct LeasedDelivery: Sendable, Hashable {
    /// The device's number.
    package let device: Int64
    package let user: Int64
    package let push: Push
    package let state: DeliveryState
}

/// The two queues of a lane.
package enum Queue: Int, Sendable, CaseIterable {
    /// What is for few; goes first.
    case direct
    /// Broadcasts, which a single notice must not wait for.
    case bulk
}

extension Reader {
    /// When the next push of a queue is due that is not leased.
    package func nextDue(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        select due_at from delivery
                        where lane = ? and is_bulk = ? and state = 'queued' and due_at is not null
                        order by due_at limit 1
                        """
                ),
                arguments: [lane.description, queue.rawValue]
            ).map(Date.init(milliseconds:))
        }
    }
}

extension Store {
    /// How a lane is claimed from.
    package struct Claim: Sendable {
        package let lane: Lane
        package let queue: Queue
        package let limit: Int
        /// The least time between two pushes to one device, of which then only the latest is sent; `nil`: none.
        package let interval: Duration?

        package init(_ limit: Int, from lane: Lane, _ queue: Queue, interval: Duration? = nil) {
            self.lane = lane
            self.queue = queue
            self.limit = limit
            self.interval = interval
        }
    }

    /// Leases pushes that are due, oldest first.
    ///
    /// What is not to be sent any more is settled on the way, so that fewer may come than there are, or none.
    package func claim(_ claim: Claim, now: Date) async throws -> [LeasedDelivery] {
        try await self.writer.write(.delivery) { [writer, sealing] db in
            var leased: [LeasedDelivery] = []
            var tally = TallyCount()
            for key in try DueDelivery.keys(db, claim, now: now) {
                do {
                    guard
                        let delivery = try DueDelivery.fetch(db, key, isPaced: claim.interval != nil, sealing),
                        let own = try Self.lease(delivery, claim, db, &tally, now: now)
                    else { continue }
                    leased.append(own)
                } catch let error as DatabaseError where !error.concernsAll {
                    // What is damaged must not stop the others, nor be met again by the next claim.
                    try DueDelivery.settle(key, db, as: .failed, reason: "the row is damaged", now: now)
                    tally.add(.failed, lane: claim.lane.description)
                    writer.noteSetAside(.push(notification: key.notification, device: key.device))
                }
            }
            try tally.write(db)
            return leased
        }
    }

    private static func lease(
        _ delivery: DueDelivery,
        _ claim: Claim,
        _ db: Database,
        _ tally: inout TallyCount,
        now: Date
    ) throws -> LeasedDelivery? {
        // An address at another provider must never be shown to this one.
        if let lane = delivery.lane, lane != claim.lane.description {
            try Self.move(
                db,
                notification: delivery.notification,
                device: delivery.device,
                from: claim.lane.description,
                to: lane,
                now: now,
                &tally
            )
            return nil
        }
        switch try delivery.decision(db, interval: claim.interval, now: now) {
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
            tally.add(state, lane: claim.lane.description)
        }
        return nil
    }

    /// Why a push waits for the time of its device.
    static let paced = "the device was woken a short time ago"

    /// Makes due at once what was on its way when the last process ended: nobody else can be sending it.
    package func reclaimLeases(now: Date) async throws {
        try await self.writer.write(.delivery) { db in
            _ = try db.run(prepared: Self.reclaim, now.milliseconds)
        }
    }

    static let reclaim = """
        update delivery indexed by delivery_by_lease set state = 'queued', due_at = ? where state = 'sending'
        """
}
