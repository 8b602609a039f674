package import Foundation
package import PushCore

/// Reads registrations.
package protocol DeviceReader: Sendable {
    /// The living devices of a user, oldest first.
    func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice]

    /// Whether a push to one of the devices waits for a later time.
    func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool
}

/// Makes, changes and ends registrations.
package protocol DeviceStore: Sendable {
    /// Gives out a registration id: the user's own for that handle, whose doubles go, or else a new one.
    func requestRegistration(ofUser user: Int64, handle: DeviceHandle?, now: Date) async throws -> RegistrationID

    /// Makes or updates a registration. Its handle leaves every other one, whose queued pushes are cancelled; the pushes
    /// that wait for the device itself go to its new address.
    ///
    /// `page` is how many pushes move in one transaction; `nil`: as many as the store likes.
    func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome

    /// Forgets a registration of the user; `false` if there is one of that id and it is another's.
    func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// Takes a device out of service, unless it has registered after `since` or with another handle; says whether it did.
    func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> Bool

    /// Makes due at once what waits for the devices; returns how many pushes that are.
    ///
    /// With `last`, the last that the devices have seen, also what was accepted with it or after it and has not been
    /// fetched since: it may have been lost on its way. Such a push counts as enqueued once more.
    func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int
}

extension DeviceStore {
    /// Makes or updates a registration.
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        by record: AuditRecord? = nil,
        within bounds: StorageBounds? = nil,
        now: Date
    ) async throws -> RegisterOutcome {
        try await self.register(registration, as: id, for: user, by: record, within: bounds, page: nil, now: now)
    }
}
