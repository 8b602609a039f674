internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Decides what happens to due pushes of one lane (a provider's queue), and leases those that are
/// to be sent. The caller's transaction has already locked the pushes.
struct Leasing {
    /// If this server lacks the key for a push, it checks the push again after this delay, in
    /// seconds.
    static let keyPause: TimeInterval = 5

    let lane: Lane
    let interval: Duration?
    var countsUnread = false
    var isProbe = false
    /// The number of this server, which the leases contain.
    let owner: Int64
    let now: Date
    /// Whether the lane's devices are reached only through event streams.
    private let hasStreams: Bool
    /// Gets a report of each damaged row.
    private let condition: DatabaseCondition

    init(_ lane: Lane, interval: Duration?, by store: PostgreSQLStore, now: Date) {
        (self.lane, self.interval, self.now) = (lane, interval, now)
        (self.owner, self.condition) = (store.membership.number, store.condition)
        self.hasStreams = store.hasStreams(lane)
    }

    /// Finds and locks due pushes that satisfy a condition with the parameters `values`, at most
    /// `limit`. Of pushes to event streams, finds those to devices with a stream at this server.
    func find(
        where condition: String,
        _ values: [any Bindable],
        limit: Int,
        _ tx: WriteTransaction
    ) async throws -> [DueDelivery] {
        var (condition, values) = (condition, values + [limit])
        let count = values.count
        if self.hasStreams {
            // Any server may find a push that was withdrawn while it was being sent: such a push
            // is not sent, but only settled.
            condition += " and (p.is_withdrawn or \(StreamHolder.ofPush) = $\(count + 1))"
            values.append(self.owner)
        }
        let sql = DueDelivery.select(where: condition, limit: "$\(count)")
        return try await DueDelivery.all(tx.query(sql, values: values), tx)
    }

    /// Leases the pushes that are sent now, the oldest first. Settles, moves or postpones the
    /// other pushes.
    func lease(_ due: [DueDelivery], _ tx: WriteTransaction) async throws -> [LeasedDelivery] {
        if due.isEmpty { return [] }
        let decisions = due.map { ($0, $0.decision(in: self.lane.description, othersHaveKeys: true, now: self.now)) }
        var pace: DevicePace?
        if self.interval != nil || self.isProbe {
            let staying = decisions.filter { if case .move = $0.1 { false } else { true } }
            pace = try await DevicePace(staying.map(\.0), interval: self.interval, tx)
        }
        var (leased, waits, ends): ([LeasedDelivery], [(DuePush, Date)], [PushEnd]) = ([], [], [])
        var (moves, keyless): ([DuePush], [(DuePush, Date)]) = ([], [])
        for (delivery, decision) in decisions {
            let key = delivery.key
            switch decision {
            case .move: moves.append(key)
            case .waitForKey(let number):
                keyless.append((key, self.now + Self.keyPause))
                tx.afterCommit { [condition] in condition.record(missingKey: number) }
            case .settle(let state, let reason):
                ends.append(PushEnd(push: key, state: state, reason: reason))
                pace?.recordEnd(of: delivery)
                if state == .failed, delivery.isDamaged {
                    tx.afterCommit { [condition] in
                        condition.shared.record(.push(notification: key.notification, device: key.device))
                    }
                }
            case .send(let push):
                switch pace == nil ? .send : pace?.decide(delivery, now: self.now) {
                case .send?:
                    let isAddressKnown = self.isProbe && pace?.isAddressKnown(delivery) == true
                    leased.append(delivery.leased(push, isAddressKnown: isAddressKnown, isPaced: self.interval != nil))
                // A push that waits for the minimum interval between two pushes gets the reason
                // `paced`. Such a push is cancelled once the device has fetched the notification.
                case .wait(let date)?: waits.append((key, date))
                case .replace?:
                    ends.append(key.cancelled(PushReason.replaced))
                    pace?.recordEnd(of: delivery)
                // Another transaction is handling the pushes to this device.
                case nil: break
                }
            }
        }
        try await tx.query(Self.leasePushes, keys: leased.map(\.key), self.owner)
        try await tx.query(Self.postponePushes, keys: waits.map(\.0), waits.map(\.1.milliseconds), PushReason.paced)
        try await tx.query(Self.postponePushes, keys: keyless.map(\.0), keyless.map(\.1.milliseconds), String?.none)
        try await tx.move(moves, now: self.now)
        try await tx.end(ends, now: self.now)
        return self.countsUnread ? try await self.countingUnread(leased, tx) : leased
    }

    // MARK: - Private

    /// Returns the pushes, each with the number of unread notifications that its user has in the
    /// push's app.
    private func countingUnread(_ leased: [LeasedDelivery], _ tx: WriteTransaction) async throws -> [LeasedDelivery] {
        // All devices of a user show the same number, so the counts are by user.
        let keys = leased.map { RecipientKey($0.key.notification, $0.user) }
        let rows = try await tx.query(Self.unread, keys: keys, self.now.milliseconds, LeaseRequest.maximumExamined)
        var counts: [RecipientKey: Int] = [:]
        for row in rows { counts[try RecipientKey(row)] = Int(clamping: try row.integer("count")) }
        return zip(leased, keys).map { delivery, key in
            var delivery = delivery
            delivery.push.unread = counts[key]
            return delivery
        }
    }

    static let unread = """
        select k.notification_id, k.user_id, (
            select count(*) from (
                select r.notification_id, r.read_at, r.dismissed_at from recipient r
                where r.user_id = k.user_id order by r.change desc limit $4
            ) r join notification m on m.id = r.notification_id
            where r.read_at is null and r.dismissed_at is null and m.payload is not null and m.expires_at > $3
                and m.app is not distinct from n.app) as count
        from (select distinct * from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)) k
        join notification n on n.id = k.notification_id
        """

    static let leasePushes = """
        update push p set owner = $3, attempts = p.attempts + 1
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        where \(DuePush.equal("p", "k"))
        """

    /// Makes pushes due at later times. If the reason `$4` is null, each push keeps its present
    /// reason.
    static let postponePushes = """
        update push p set owner = null, due_at = k.due_at, reason = coalesce($4, p.reason)
        from unnest($1::int8[], $2::int8[], $3::int8[]) as k (notification_id, device, due_at)
        where \(DuePush.equal("p", "k"))
        """
}

extension LeasedDelivery {
    var key: DuePush { DuePush(notification: self.push.notification.rawValue, device: self.device) }
}

extension DueDelivery {
    /// Decodes the rows that a statement of `select` returns. Also reads the notifications of
    /// these pushes.
    static func all(_ rows: Rows, _ tx: WriteTransaction) async throws -> [DueDelivery] {
        let ids = Set(try rows.map { try $0.integer(Column.notificationID) })
        if ids.isEmpty { return [] }
        var notifications: [Int64: DueNotification] = [:]
        for row in try await tx.query(Self.notifications, Array(ids)) {
            let id = try row.integer("id")
            notifications[id] = try DueNotification(row, from: 1) { alert, sender in
                Result { () throws(VaultError) in try tx.sealing.alert(alert, of: id, sender: sender) }
            }
        }
        return try rows.map { try DueDelivery($0, of: notifications[$0.integer(Column.notificationID)], tx.sealing) }
    }

    /// The SQL condition on a row of `push` (alias `p`): no live server has leased the push.
    static let isFree = "(p.owner is null or p.owner <> all (array(select number from node where not is_fenced)))"

    /// Locks the pushes that satisfy a condition, the oldest first. Also reads the columns that
    /// the decision about each push depends on.
    ///
    /// Skips pushes that another transaction has locked, so that the statement never waits.
    static func select(where condition: String, limit: String) -> String {
        """
        with c as materialized (
            select p.notification_id, p.device, p.user_id, p.attempts, p.is_withdrawn, p.reason, p.due_at from push p
            where \(condition) and \(Self.isFree) order by p.due_at limit \(limit) for update of p skip locked)
        select \(Column.list) from c left join device v on v.number = c.device
        """
    }

    static let notifications = """
        select n.id, \(DueNotification.Column.list)
        from notification n where n.id = any($1::int8[])
        """
}
