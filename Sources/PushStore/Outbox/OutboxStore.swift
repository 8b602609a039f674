package import Foundation
package import PushCore

/// Reads pushes and their states.
package protocol OutboxReader: Sendable {
    /// The time at which the next push of a queue that is not leased is due.
    func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The send time of the oldest notification that still has a push in this queue, whether due
    /// now or scheduled for a retry. Pushes parked until their device connects do not count.
    ///
    /// No index has the age. So the store examines `OldestPush.maximumExamined` pushes at each end
    /// of the queue. The pushes that are due first include the oldest untried ones, and those that
    /// are due last include the most often refused ones. With more than twice as many pushes there
    /// may be an older one.
    func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The due push that the choice prefers. Among equals, single notifications come before
    /// broadcasts, and older pushes before newer ones. If no push fits the choice, the oldest push
    /// to a user whom it does not avoid, or else the oldest of all.
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
    /// number counted, and `nil` after the end.
    func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?)

    /// Whether more devices of a notification may still be found, each for a push; `false` if its
    /// audience cannot be read.
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
    /// store; `false` while another server has it. May be repeated.
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

    /// Enqueues pushes that tell devices to sync, in their lanes of looks; returns whether there
    /// are any. Only devices in the lanes of `StoreOptions.looks` get them.
    ///
    /// `makeID` draws an id, as a notification's; `nil`: none, so the store asks again.
    func enqueueLooks(
        _ orders: [LookOrder],
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Bool

    /// Cancels the looks of sessions' devices that wait, unless the user has newer changes.
    func cancelLooks(of syncs: [LookSync], now: Date) async throws

    /// Expands the oldest running broadcast by one page; returns the number of pushes created, or
    /// `nil` if no broadcast runs.
    ///
    /// `page` is the number of devices that are examined; `nil`: the store's own page size. A
    /// broadcast whose row does not decode is set aside: it is not expanded, stays until it
    /// expires, and blocks no other.
    func expandFanout(page: Int?, now: Date) async throws -> Int?

    /// Sends the scheduled notifications that are due, the oldest first, at most `limit` in one
    /// transaction; `nil`: the store's own number. Fewer, if they have many devices.
    ///
    /// Each reaches the recipients that a post of this moment would reach, and takes its place in
    /// the order of notifications now; it counts as created now. The store skips a named user who
    /// was deleted, and an expired notification. A notification whose row does not decode is set
    /// aside: it stays until it expires, and blocks no other.
    func releaseScheduled(limit: Int?, now: Date) async throws -> Release
}

extension OutboxStore {
    /// A server that has the store alone sends each probe.
    package func acquireProbe(of lane: Lane) async throws -> Bool { true }

    /// Expands the oldest running broadcast by one page of the store's own size.
    package func expandFanout(now: Date) async throws -> Int? {
        try await self.expandFanout(page: nil, now: now)
    }

    /// Sends scheduled notifications that are due, as many as the store takes at a time.
    package func releaseScheduled(now: Date) async throws -> Release {
        try await self.releaseScheduled(limit: nil, now: now)
    }
}

/// Limits of the search for the oldest push of a queue.
package enum OldestPush {
    /// The number of pushes examined at either end of a queue: less than a millisecond's work.
    package static let maximumExamined = 64
}
