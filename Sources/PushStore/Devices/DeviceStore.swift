package import Foundation
package import PushCore

/// Creates, updates and ends registrations.
package protocol DeviceStore: Sendable {
    /// Returns the user's registration id for this handle, and deletes the user's other
    /// registrations of the handle. If the user has not registered it, issues the new id `id`.
    func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        as id: RegistrationID,
        now: Date
    ) async throws -> RegistrationID

    var sealing: Sealing { get }
    /// The number of pushes that one transaction moves to a device's new lane.
    static var movingPage: Int { get }

    /// In one transaction, reads the facts that the decision asks for, and writes its plan.
    func follow(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep
    ) async throws -> RegistrationEnd

    /// Moves at most `page` queued pushes of a device to the device's present lane, in one
    /// transaction. Returns the number of moved pushes.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int

    /// Adds a tag to the tags that a device has chosen, or removes one. The device's address stays
    /// as it is.
    ///
    /// `record` names the user and the id; the store adds it to the audit if the tags have
    /// changed.
    func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome

    /// Stores the text of a registered device's public keys; `false` if the user has no registered
    /// device with this id.
    func setKey(_ key: String, of id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// The devices in an audience with their public keys; `nil` if there may be more than `limit`
    /// devices.
    func deviceKeys(of audience: HashedAudience, atMost limit: Int) async throws -> [DeviceKeyEntry]?

    /// Deletes expired claims to handles, and expired codes: at most `limit` of each kind. Returns
    /// the larger of the two numbers of deleted rows.
    func deleteExpiredClaims(now: Date, limit: Int) async throws -> Int

    /// Deletes the user's registration with this id; `false` if there is no such registration.
    func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// Deletes the registration with this id, whoever owns it, and cancels its queued pushes;
    /// `false` if there is no such registration. The store adds the owner's name to the record.
    func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool

    /// Retires a device, and returns its id. If the device has registered after `since`, or by now
    /// has another handle or lane, it stays, and the result is `nil`.
    func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> RegistrationID?

    /// Moves a device, with a page of its queued pushes, to another lane, in one transaction.
    /// Returns how many pushes have moved, or `nil` if the device stays: see the other `move`.
    func move(
        device: Int64,
        handleKey: Data,
        from lane: Lane,
        to other: Lane,
        page: Int,
        now: Date
    ) async throws -> Int?

    /// Records that this server has opened an event stream for these devices. Makes their waiting
    /// pushes due, as `makeDue` does, and returns the number of these pushes. From now on this
    /// server sends the devices' pushes.
    ///
    /// Call it after the stream was opened in the `StreamHub` of the options: the hub informs the
    /// store when the stream ends. If several servers have a stream of the same device, the server
    /// that has opened the last of these streams sends the pushes.
    func streamOpened(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int

    /// Makes the pushes that wait for these devices due, at most `WakePace.page`; returns the
    /// number of these pushes. They become due at the pace of `WakePace`, the first of them now.
    /// If the result is a page, further pushes may wait.
    ///
    /// `last` is the last notification that the devices have seen. Pushes that a stream accepted
    /// at the same time as the push of `last`, or later, may have been lost in transit. They
    /// become due again, unless their notifications have been fetched. Each of them counts as
    /// enqueued again. Each transaction enqueues at most `WakePace.page` of them.
    func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int
}

extension DeviceStore {
    /// Needs no record if no other server shares the store: the `StreamHub` knows the streams.
    package func streamOpened(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int {
        try await self.makeDue(for: devices, ofUser: user, after: last, now: now)
    }
}
