package import Foundation
package import PushCore

/// Reads the pushes and what became of them.
package protocol OutboxReader: Sendable {
    /// When the next push of a queue is due that is not leased.
    func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The push that is due and that the choice prefers: of what is preferred alike, the oldest, and single notices first.
    /// Without one that fits, the oldest to a user who is not avoided; without such a user, the oldest of all.
    func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush?

    /// Whether the notification is there, not recalled, and the user's, if one is given.
    func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool

    /// A notification's pushes behind a device's number, at most `limit`.
    func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry]

    /// Counts the next `limit` pushes of a notification, behind a device's number; `last` is the number that it has come
    /// to, and `nil` after the end.
    func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?)

    /// The tallies of all lanes that ever had a push.
    func tallies() async throws(StoreError) -> [String: Tally]
}

/// Leases pushes to those who send them, and writes down how the tries ended.
package protocol OutboxStore: Sendable {
    /// Leases pushes that are due, oldest first.
    ///
    /// Those that shall not be sent any more are settled on the way, so that fewer may come than there are, or none.
    func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery]

    /// Leases a push that `probe` has found; `nil` if it is not due any more, or is settled because it shall not be sent.
    func leaseProbe(_ push: DuePush, from lane: Lane, interval: Duration?, now: Date) async throws -> LeasedDelivery?

    /// Makes due at once what was on its way when the last process ended: no other can be sending it.
    func reclaimLeases(now: Date) async throws

    /// Writes down how tries ended, all in one transaction.
    ///
    /// A push that was withdrawn meanwhile is not tried again, and one that was settled meanwhile stays so. A push that is
    /// tried again, or was refused at an address that the device has left meanwhile, goes to the address that the device
    /// has now.
    func settle(_ ended: [(LeasedDelivery, Settlement)], now: Date) async throws

    /// Takes the oldest running broadcast one page further; `nil` if there is none, else how many pushes that made.
    ///
    /// `page` is how many devices are looked at; `nil`: as many as the store likes. A broadcast whose row does not decode
    /// is set aside: it goes no further, is kept until it expires, and stops no other.
    func expandFanout(page: Int?, now: Date) async throws -> Int?
}

extension OutboxStore {
    /// Takes the oldest running broadcast one page further, as large as the store likes.
    package func expandFanout(now: Date) async throws -> Int? {
        try await self.expandFanout(page: nil, now: now)
    }
}
