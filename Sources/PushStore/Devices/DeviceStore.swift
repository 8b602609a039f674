package import Foundation
package import PushCore

/// Reads registrations.
package protocol DeviceReader: Sendable {
    /// The registered devices of a user, oldest first.
    func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice]

    /// A registered device of any user, with its owner; `nil` if no device has that id.
    func device(_ id: RegistrationID) async throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)?

    /// The registrations of one user or of all, in any state and in a fixed order; at most `limit`
    /// after `last`.
    func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry]

    /// The registration with that id in any state, or the one of the claim with that id; `nil` if
    /// the id was not issued, or was deleted.
    func deviceEntry(_ id: RegistrationID) async throws(StoreError) -> DeviceEntry?

    /// The last push of a code to each handle that the user's devices have claimed and not
    /// confirmed.
    func claims(ofUser user: Int64) async throws(StoreError) -> [ClaimEntry]

    /// The user's registrations whose handles were registered by other accounts after `since`,
    /// newest first.
    func movedDevices(ofUser user: Int64, since: Date) async throws(StoreError) -> [MovedDevice]

    /// Whether a push to one of the devices waits for a later time.
    func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool
}

/// Creates, updates and ends registrations.
package protocol DeviceStore: Sendable {
    /// Returns the user's registration id for that handle, and deletes the user's other
    /// registrations of the handle. If the user has no registration of the handle, issues `id`.
    func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        as id: RegistrationID,
        now: Date
    ) async throws -> RegistrationID

    /// Creates or updates a registration under an id that was issued to the user.
    ///
    /// Other registrations of the same platform and handle are retired, and their queued pushes
    /// cancelled. A shared registration retires only the user's own other registrations. The
    /// pushes that wait for the device itself go to its new address. `page` is how many pushes
    /// move in one transaction; with `nil` the store decides.
    ///
    /// With a `confirmation` all of this happens only when the user confirms the handle. Until
    /// then, only a code is pushed to the handle. `record` names the user and the id. The store
    /// adds to the audit whether it was a claim or a registration, and that the handle has moved
    /// if another user had it.
    ///
    /// `token` is the token that the user has presented. If it is a session's, the device belongs
    /// to that session from now on, and is retired if somebody ends the session. Otherwise the
    /// device belongs to no session.
    func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome

    /// Registers the handle that the user has claimed under the id, if the code is the one that
    /// was pushed to it.
    ///
    /// The code that has registered the handle is accepted again until it would have expired.
    /// `token` is as in `register`.
    func confirm(
        _ code: String,
        for id: RegistrationID,
        of user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        now: Date
    ) async throws -> ConfirmOutcome

    /// Adds a tag to a device's own tags, or removes one, as a registration with the changed tags
    /// would; the address stays as it is.
    ///
    /// `record` names the user and the id; the store adds it to the audit if something has
    /// changed.
    func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome

    /// Stores the text of a registered device's public keys; `false` if the user has no such
    /// device.
    func setKey(_ key: String, of id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// The devices of an audience with their public keys; `nil` if there may be more than `limit`.
    func deviceKeys(of audience: HashedAudience, atMost limit: Int) async throws -> [DeviceKeyEntry]?

    /// Deletes claims and confirmations that have expired, at most `limit` of each; returns the
    /// larger number.
    func deleteExpiredClaims(now: Date, limit: Int) async throws -> Int

    /// Deletes a registration of the user; returns whether there was one.
    func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// Deletes a registration of any user, and cancels its queued pushes; `false` if there is
    /// none. The store adds the user to the record.
    func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool

    /// Retires a device, and returns its id; `nil` if it stays, since it has registered after
    /// `since` or has another handle or lane.
    func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> RegistrationID?

    /// Moves a device, with its queued pushes, to the lane of its platform's other environment;
    /// returns whether it did.
    ///
    /// The device stays if it has another handle or lane by now, or was moved there and back since
    /// it registered. `page` is how many pushes move in one transaction; with `nil` the store
    /// decides. A push continues in the new lane as if it had just been enqueued there. The tally
    /// counts the push as cancelled in the old lane and as enqueued in the new one, so each lane's
    /// counts add up.
    func move(
        device: Int64,
        handle: String,
        from lane: Lane,
        to other: Lane,
        page: Int?,
        now: Date
    ) async throws -> Bool

    /// Records that this server has opened an event stream of the devices, and makes their waiting
    /// pushes due, as `makeDue` does; returns their number. From now on this server sends them
    /// their pushes.
    ///
    /// Call it after opening the stream in the options' `StreamHub`, which informs the store of
    /// the stream's end. If several servers have streams of a device open, the server that opened
    /// the last one sends.
    func streamOpened(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int

    /// Makes the pushes that wait for the devices due at once; returns their number.
    ///
    /// `last` is the last notification that the devices have seen. With it, pushes that were
    /// accepted at the same time or later, and whose notifications have not been fetched, become
    /// due too: they may have been lost in transit. Such a push counts as enqueued again.
    func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int
}

extension DeviceStore {
    /// Moves a device to the lane of its platform's other environment.
    package func move(
        device: Int64,
        handle: String,
        from lane: Lane,
        to other: Lane,
        now: Date
    ) async throws -> Bool {
        try await self.move(device: device, handle: handle, from: lane, to: other, page: nil, now: now)
    }

    /// Returns the user's registration id for that handle, and deletes the user's other
    /// registrations of the handle. If the user has no registration of the handle, issues a new
    /// id.
    package func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        now: Date
    ) async throws -> RegistrationID {
        try await self.requestRegistration(ofUser: user, handle: handle, as: .random(), now: now)
    }

    /// Creates or updates a registration.
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        with token: TokenPrefix? = nil,
        by record: AuditRecord? = nil,
        within bounds: StorageBounds? = nil,
        now: Date
    ) async throws -> RegisterOutcome {
        try await self.register(
            registration,
            as: id,
            for: user,
            with: token,
            by: record,
            within: bounds,
            page: nil,
            now: now
        )
    }
}
