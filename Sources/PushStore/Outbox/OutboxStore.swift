package import Foundation
package import PushCore

/// Reads pushes and their states.
package protocol OutboxReader: SharedReader {
    /// The time at which the next push of the queue is due. Leased pushes do not count.
    func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The time of the oldest notification that still has a push in this queue, whether the push
    /// is due or waits for a retry. Pushes that wait for their device to connect do not count.
    ///
    /// No index sorts pushes by the age of their notification. So the store examines
    /// `Queue.maximumExamined` pushes at each end of the queue. At the front are the oldest
    /// pushes without an attempt. At the back are the pushes that were refused most often. In a
    /// longer queue, a push in the middle may be older.
    func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date?

    /// The push to send as a probe, which tests whether the provider accepts pushes again: the due
    /// push that suits `choice` best. Among equally suitable pushes, those of single notifications
    /// come before those of broadcasts, and older pushes before newer ones. If no push satisfies
    /// the choice, returns the oldest push to a user whom the choice does not avoid. If there is
    /// no such push, either, returns the oldest push of all.
    func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush?

    /// Whether a push to one of these devices waits for a later time.
    func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool

    /// The number of scheduled notifications, and the time at which the first is due. Counts at
    /// most `limit` notifications.
    func schedule(countingAtMost limit: Int) async throws(StoreError) -> Schedule

    /// For each lane (a provider's queue) that has ever had a push, the number of its pushes with
    /// each outcome.
    func tallies() async throws(StoreError) -> [String: Tally]
}

extension OutboxReader {
    package func schedule() async throws(StoreError) -> Schedule {
        try await self.schedule(countingAtMost: Schedule.maximumCounted)
    }
}

/// Leases pushes, and stores the results of attempts to send them.
package protocol OutboxStore: Sendable {
    /// Leases due pushes, the oldest first.
    ///
    /// The store also settles due pushes that must not be sent any more. So it may return fewer
    /// pushes than are due, or none.
    func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery]

    /// Leases a push that `probe` has found. `nil` if it is no longer due, or if the store has
    /// settled it because it must not be sent.
    func leaseProbe(_ push: DuePush, from lane: Lane, interval: Duration?, now: Date) async throws -> LeasedDelivery?

    /// Makes due all pushes that were leased when the last process ended: no process can be
    /// sending them any more.
    func reclaimLeases(now: Date) async throws

    /// Cancels or hastens a single push. The store adds the record to the audit only if it has
    /// changed the push.
    ///
    /// If the push is being sent, the server cannot stop it. It is marked as cancelled, and the
    /// provider's answer decides whether it counts as accepted.
    func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome

    /// Stores the results of attempts, in one transaction.
    ///
    /// If a push was cancelled meanwhile, it is not retried; if it was settled meanwhile, it stays
    /// settled. If the device's address has changed, a push that is retried, or was refused at the
    /// old address, goes to the new address.
    func settle(_ ended: [(LeasedDelivery, Settlement)], now: Date) async throws

    /// Enqueues looks (pushes that tell a device to sync); returns whether it has enqueued any.
    /// Only devices in the lanes of `StoreOptions.looks` get looks.
    ///
    /// `makeID` draws a random id for a notification. If it returns `nil`, the store calls it
    /// again.
    func enqueueLooks(
        _ orders: [LookOrder],
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Bool

    /// Enqueues urgent looks (pushes that tell a device to sync) to the devices of the next `page`
    /// recipients of a recall, except those who have dismissed the notification. Returns the
    /// number of looks; `nil` if no recall needs further looks.
    ///
    /// The transaction also stores the position in the list of recipients. So after a crash, the
    /// next call continues, and no device gets two looks for a recall.
    func enqueueRecallLooks(
        page: Int,
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Int?

    /// Cancels the looks that wait for these sessions' devices, unless their users have newer
    /// changes. A look is a push that tells a device to sync.
    func cancelLooks(of syncs: [LookSync], now: Date) async throws

    /// Deletes waiting looks (pushes that tell a device to sync) of a lane without a sender;
    /// returns whether it has found any.
    func deleteLooks(in lane: Lane, now: Date) async throws -> Bool

    /// Expands the oldest running broadcast by one page. Returns the number of pushes that it has
    /// enqueued, or `nil` if no broadcast is running.
    ///
    /// `page` is the number of devices that are examined; if it is `nil`, the store has a default.
    /// If the row of a broadcast cannot be decoded, the broadcast is set aside. It stays until it
    /// expires, is not expanded, and does not block other broadcasts.
    func expandFanout(page: Int?, now: Date) async throws -> Int?

    /// Sends scheduled notifications that are due, the oldest first, at most `limit` in one
    /// transaction; if `limit` is `nil`, the store has a default. If these notifications have many
    /// devices, sends fewer.
    ///
    /// Each notification is sent like a post of this moment. It gets the present recipients, the
    /// present time, and a new place in the order of notifications. A named user who was deleted
    /// is skipped, and so is an expired notification. If a row cannot be decoded, it is set aside:
    /// it stays until it expires, and does not block other notifications.
    func releaseScheduled(limit: Int?, now: Date) async throws -> Release
}
