package import Foundation
package import PushCore

/// Reads pushes and their states.
package protocol OutboxReader: Sendable {
    /// The time at which the queue's next push is due; leased pushes do not count.
    func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The send time of the oldest notification that still has a push in this queue, whether due
    /// now or scheduled for a retry. Pushes parked until their device connects do not count.
    ///
    /// No index sorts pushes by age. So the store examines `OldestPush.maximumExamined` pushes at
    /// each end of the queue. The pushes that are due first include the oldest untried ones, and
    /// those that are due last include the most often refused ones. If the queue has more than
    /// twice as many pushes, one that is not examined may be older.
    func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The due push that the choice prefers. Among equals, single notifications come before
    /// broadcasts, and older pushes before newer ones. If no push fits the choice, returns the
    /// oldest push to a user whom the choice does not avoid, or else the oldest of all.
    func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush?

    /// Whether the notification exists, is not recalled, and belongs to the sender, if one is
    /// given.
    func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool

    /// A notification's pushes after a device number, at most `limit`.
    func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry]

    /// A notification's pushes to the devices that a user has, at most `limit`.
    func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry]

    /// The failed pushes of all notifications since a time and before a place, the newest first;
    /// at most `limit`. A failed push is stored as long as its notification.
    func failedPushes(
        since: Date,
        before last: FailurePlace?,
        limit: Int
    ) async throws(StoreError) -> [FailedPush]

    /// A notification's recipients after a user's number, at most `limit`.
    func recipients(
        of id: NotificationID,
        after user: Int64,
        limit: Int
    ) async throws(StoreError) -> [RecipientEntry]

    /// The times of a notification, also if it has expired or was recalled; `nil` if it is not
    /// stored.
    func times(of id: NotificationID) async throws(StoreError) -> NotificationTimes?

    /// The notifications that last changed for a user, the newest change first.
    func latestNotifications(ofUser user: Int64, limit: Int) async throws(StoreError) -> [NotificationTimes]

    /// Counts the next `limit` pushes of a notification after a device number; `last` is the last
    /// number counted, and `nil` once all are counted.
    func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?)

    /// Whether the fan-out of a notification may still find more devices; `false` if the audience
    /// cannot be read.
    func isFanningOut(_ id: NotificationID) async throws(StoreError) -> Bool

    /// When a scheduled notification is sent; `nil` if it was sent, or was never scheduled.
    func sendTime(of id: NotificationID) async throws(StoreError) -> Date?

    /// The notifications that are scheduled.
    func schedule() async throws(StoreError) -> Schedule

    /// The tallies of all lanes that ever had a push.
    func tallies() async throws(StoreError) -> [String: Tally]
}

/// Leases pushes to lanes, and stores the results of their attempts.
package protocol OutboxStore: Sendable {
    /// Whether leased pushes may be sent at this moment. The delivery checks it right before each
    /// push.
    ///
    /// `false` while other servers may take the pushes over at any time, since this one has not
    /// renewed its lease in time.
    var maySend: Bool { get }

    /// Leases pushes that are due, oldest first.
    ///
    /// The store also settles pushes that must not be sent any more, so the result may have fewer
    /// than are due, or none.
    func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery]

    /// Leases a push that `probe` found; `nil` if it is no longer due, or was settled because it
    /// must not be sent.
    func leaseProbe(_ push: DuePush, from lane: Lane, interval: Duration?, now: Date) async throws -> LeasedDelivery?

    /// Reserves the next probe of a paused lane for this server, among all servers that share the
    /// store; `false` while another server has reserved it. The call may be repeated.
    func acquireProbe(of lane: Lane) async throws -> Bool

    /// Makes pushes due at once that were leased when the last process ended: no other process can
    /// be sending them.
    func reclaimLeases(now: Date) async throws

    /// Cancels or hastens a single push; the store adds the record to the audit only if something
    /// was done.
    ///
    /// A push that is being sent cannot be stopped: it is cancelled, and the provider's answer
    /// decides how it counts.
    func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome

    /// Stores the results of attempts, all in one transaction.
    ///
    /// A push that was cancelled meanwhile is not retried, and one that was settled meanwhile
    /// stays so. A push that is retried, or was refused at an address that the device has left
    /// meanwhile, goes to the device's present address.
    func settle(_ ended: [(LeasedDelivery, Settlement)], now: Date) async throws

    /// Enqueues looks, which are pushes that tell devices to sync, in the devices' lanes of looks;
    /// returns whether it has enqueued any. Only devices in the lanes of `StoreOptions.looks` get
    /// them.
    ///
    /// `makeID` draws an id in the form of a notification's; if it returns `nil`, the store calls
    /// it again.
    func enqueueLooks(
        _ orders: [LookOrder],
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Bool

    /// Cancels the waiting looks of these sessions' devices, unless the user has newer changes.
    func cancelLooks(of syncs: [LookSync], now: Date) async throws

    /// Expands the oldest running broadcast by one page; returns the number of pushes created, or
    /// `nil` if no broadcast runs.
    ///
    /// `page` is the number of devices that are examined; `nil`: the store's own page size. A
    /// broadcast whose row does not decode is set aside: it is not expanded, stays until it
    /// expires, and blocks no other.
    func expandFanout(page: Int?, now: Date) async throws -> Int?

    /// Sends the scheduled notifications that are due, the oldest first, at most `limit` in one
    /// transaction; `nil`: the store's own number. It sends fewer if they have many devices.
    ///
    /// Each gets what a post of this moment would get: its recipients, its time of creation and
    /// its place in the order of notifications. The store skips a named user who was deleted, and
    /// an expired notification. A notification whose row does not decode is set aside: it stays
    /// until it expires, and blocks no other.
    func releaseScheduled(limit: Int?, now: Date) async throws -> Release
}

extension OutboxStore {
    /// A server that has the store alone sends each probe.
    package func acquireProbe(of lane: Lane) async throws -> Bool { true }
}

/// Limits of the search for the oldest push of a queue.
package enum OldestPush {
    /// The number of pushes examined at either end of a queue: less than a millisecond's work.
    package static let maximumExamined = 64
}
