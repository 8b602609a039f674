internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Keeps the minimum interval between two pushes to a device, for the pushes of one transaction.
struct DevicePace {
    /// The facts about one push, read from the database. They do not consider the other pushes of
    /// this transaction.
    private struct Facts {
        /// The time when a provider last accepted a push to the device's present address.
        let acceptedAt: Date?
        /// Whether a newer push waits for the same device outside of this transaction.
        let hasNewer: Bool
        /// Whether a server is sending another push to the same device.
        let isAnotherUnderWay: Bool
    }

    private let interval: TimeInterval?
    private var facts: [DuePush: Facts] = [:]
    /// The pushes of this transaction that are not settled yet, by device.
    private var open: [Int64: [DueDelivery]] = [:]
    /// The devices that will get a push, as this transaction has decided.
    private var sent: Set<Int64> = []

    /// Reads the facts about the pushes. If `interval` is not `nil`, first locks their devices.
    init(_ due: [DueDelivery], interval: Duration?, _ tx: WriteTransaction) async throws {
        self.interval = interval?.timeInterval
        if due.isEmpty { return }
        self.open = Dictionary(grouping: due, by: \.key.device)
        var devices = Set(self.open.keys)
        if interval != nil {
            devices = Set(try await tx.query(Self.lock, devices.sorted()).map { try $0.integer() })
        }
        let known = due.filter { devices.contains($0.key.device) }
        // The facts are read by a separate statement, which must see what other transactions
        // committed before the devices were locked.
        let rows = try await tx.query(Self.selectPaces, keys: known.map(\.key), known.map(\.sequence))
        for row in rows {
            self.facts[try DuePush(row)] = Facts(
                acceptedAt: try row.optionalDate("accepted_at"),
                hasNewer: try row.flag("has_newer"),
                isAnotherUnderWay: try row.flag("is_another_under_way")
            )
        }
    }

    /// Whether a provider has ever accepted a push to the present address of this push's device.
    func isAddressKnown(_ delivery: DueDelivery) -> Bool { self.facts[delivery.key]?.acceptedAt != nil }

    /// Decides what happens to a push that is due: it is sent, waits, or is replaced. `nil` if
    /// another transaction is handling the pushes to this device.
    mutating func decide(_ delivery: DueDelivery, now: Date) -> Pace? {
        let device = delivery.key.device
        guard let facts = self.facts[delivery.key] else { return nil }
        let hasNewer = (self.open[device] ?? []).contains { !$0.isCancelled && delivery.isOlder(than: $0) }
        let pace = Pace.decide(
            self.interval,
            acceptedAt: facts.acceptedAt,
            hasNewer: facts.hasNewer || hasNewer,
            isAnotherUnderWay: facts.isAnotherUnderWay || self.sent.contains(device),
            now: now
        )
        if pace == .send { self.sent.insert(device) }
        return pace
    }

    /// Records that a push of this transaction is settled.
    mutating func recordEnd(of delivery: DueDelivery) {
        self.open[delivery.key.device]?.removeAll { $0.key == delivery.key }
    }

    /// Locks the devices, but skips those that another transaction has locked. A transaction that
    /// leases pushes has already locked the pushes, and must not wait for the devices.
    static let lock = """
        select number from device where number = any($1::int8[]) order by number for no key update skip locked
        """

    /// Reads the `Facts`. Two parts are scalar subqueries: the notifications of waiting pushes,
    /// and whether another push to the device is being sent. If these were a join and an `exists`,
    /// PostgreSQL might read all notifications and all waiting pushes.
    static let selectPaces = """
        with k as materialized (
            select * from unnest($1::int8[], $2::int8[], $3::int8[]) as k (notification_id, device, sequence))
        select k.notification_id, k.device, a.accepted_at, exists (
            select 1 from push x where x.device = k.device and x.due_at is not null and not x.is_withdrawn
                and x.lane not like '%\(Lane.lookSuffix)'
                and (select (m.sequence, m.id) > (k.sequence, k.notification_id) from notification m
                    where m.id = x.notification_id)
                and not exists (
                    select 1 from k as o where o.device = x.device and o.notification_id = x.notification_id)
        ) as has_newer, (
            select true from push x where x.device = k.device and x.due_at is not null
                and x.lane not like '%\(Lane.lookSuffix)' and x.owner = any(array(select number from node where not is_fenced))
            limit 1) is not null as is_another_under_way
        from k left join device_push a on a.device = k.device
        """
}
