package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery] {
        try await self.writer.write(.delivery) { [writer, pusher] db in
            let (lane, interval) = (request.lane, request.interval)
            let leasing = Leasing(writer: writer, pusher: pusher, lane: lane, interval: interval, now: now)
            let leased = try DueDelivery.keys(db, request, now: now).compactMap { try leasing.lease($0, db) }
            return try leased.sorted { $0.due.precedes($1.due) }.map { _, own in
                var own = own
                if request.countsUnread { own.push.unread = try Self.countUnread(own, db, now: now) }
                return own
            }
        }
    }

    package func leaseProbe(
        _ push: DuePush,
        from lane: Lane,
        interval: Duration?,
        now: Date
    ) async throws -> LeasedDelivery? {
        try await self.writer.write(.delivery) { [writer, pusher] db in
            // The push may have been cancelled since a reader found it.
            guard try Self.isDue(push, in: lane, db, now: now) else { return nil }
            var leasing = Leasing(writer: writer, pusher: pusher, lane: lane, interval: interval, now: now)
            leasing.isProbe = true
            return try leasing.lease(push, db)?.own
        }
    }

    /// Whether a push is still due in this lane.
    private static func isDue(_ push: DuePush, in lane: Lane, _ db: Database, now: Date) throws -> Bool {
        try db.exists(
            """
            select 1 from push
            where notification_id = \(push.notification) and device = \(push.device) and lane = \(lane.description)
                and state = 'queued' and due_at <= \(now.milliseconds)
            """
        )
    }

    package func reclaimLeases(now: Date) async throws {
        try await self.writer.write(.delivery) { db in
            _ = try db.run(SQL(sql: Self.reclaim), now.milliseconds)
        }
    }

    /// The number of unread notifications that the user of a push has in the push's app.
    private static func countUnread(_ delivery: LeasedDelivery, _ db: Database, now: Date) throws -> Int? {
        try db.number(
            SQL(sql: Self.unread),
            delivery.user,
            delivery.push.notification.rawValue,
            now.milliseconds,
            LeaseRequest.maximumExamined
        ).map { Int(clamping: $0) }
    }

    /// Counts unread notifications. Because of the cross join, SQLite begins with the user's
    /// newest changes, which are few.
    static let unread = """
        select count(*) from (
            select notification_id, read_at, dismissed_at from recipient
            where user_id = ?1 order by change desc limit ?4
        ) r cross join notification n on n.id = r.notification_id
        where r.read_at is null and r.dismissed_at is null and n.payload is not null and n.expires_at > ?3
            and n.app is (select app from notification where id = ?2)
        """

    static let reclaim =
        "update push indexed by delivery_by_lease set state = 'queued', due_at = ? where state = 'sending'"
}

/// Decides which due pushes of one lane (a provider's queue) are sent now, and leases them: marks
/// them as being sent.
private struct Leasing {
    let writer: Writer
    let pusher: Pusher
    let lane: Lane
    let interval: Duration?
    var isProbe = false
    let now: Date
    let alerts = OpenedAlerts()

    /// Marks a push as being sent (leases it); `nil` if the push must not be sent, or not yet.
    func lease(_ key: DuePush, _ db: Database) throws -> (due: DueDelivery, own: LeasedDelivery)? {
        do {
            let needsAcceptance = self.interval != nil || self.isProbe
            let due = try DuePushRow(db, key, needsAcceptance: needsAcceptance, self.pusher.sealing, self.alerts)
            return try due.flatMap { due in try self.lease(due, db).map { (due.delivery, $0) } }
        } catch let error as DatabaseError where !error.concernsAll {
            // A damaged row must neither block the other rows nor make the next lease fail again.
            try self.settle(key, as: .failed, reason: PushReason.damaged, db)
            self.writer.condition.record(StoreError(error))
            self.writer.condition.record(.push(notification: key.notification, device: key.device))
            return nil
        }
    }

    private func lease(_ due: DuePushRow, _ db: Database) throws -> LeasedDelivery? {
        let (delivery, key, lane) = (due.delivery, due.delivery.key, self.lane.description)
        switch delivery.decision(in: lane, othersHaveKeys: false, now: self.now) {
        case .send(let push):
            switch try due.pace(self.interval, db, now: self.now) {
            case .send:
                try db.run(
                    """
                    update push set state = 'sending', attempts = attempts + 1
                    where notification_id = ? and device = ?
                    """,
                    key.notification,
                    key.device
                )
                return delivery.leased(push, isAddressKnown: self.isProbe && due.acceptedAt != nil)
            case .wait(let date):
                // The stored reason says that the push waits for the minimum interval between
                // pushes to its device. Once the device has fetched the notification, this push is
                // cancelled.
                try self.postpone(key, until: date, db)
            case .replace: try self.settle(key, as: .cancelled, reason: PushReason.replaced, db)
            }
        case .move(let other): try self.pusher.move(key, from: lane, to: other, db, now: self.now)
        case .settle(let state, let reason):
            try self.settle(key, as: state, reason: reason, db)
            if state == .failed, delivery.isDamaged {
                self.writer.condition.record(.push(notification: key.notification, device: key.device))
            }
        case .waitForKey: break
        }
        return nil
    }

    private func postpone(_ key: DuePush, until date: Date, _ db: Database) throws {
        try db.run(
            """
            update push set state = 'queued', due_at = \(date.milliseconds), reason = \(PushReason.paced)
            where notification_id = \(key.notification) and device = \(key.device)
            """
        )
    }

    private func settle(_ key: DuePush, as state: TallyState, reason: String?, _ db: Database) throws {
        try db.run(
            """
            update push set state = \(state.rawValue), settled_at = \(self.now.milliseconds), reason = \(reason)
            where notification_id = \(key.notification) and device = \(key.device)
            """
        )
        self.pusher.notes.count(state, lane: self.lane.description)
    }
}
