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

    var sealing: Sealing { get }
    /// How many pushes move to a device's new lane in one transaction.
    static var movingPage: Int { get }

    /// Reads the facts of a decision and writes its plan, in one transaction.
    func follow<Outcome>(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep<Outcome>
    ) async throws -> RegistrationEnd<Outcome>

    /// Moves queued pushes of a device to its lane, in one transaction; returns how many, at most
    /// `page`.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int

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
