package import Foundation
package import PushCore

/// Reads registrations.
package protocol DeviceReader: Sendable {
    /// The registered devices of a user, oldest first.
    func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice]

    /// The registrations of one user or of all, in any state and in a fixed order; at most `limit` after `last`.
    func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry]

    /// Whether a push to one of the devices waits for a later time.
    func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool
}

/// Creates, updates and ends registrations.
package protocol DeviceStore: Sendable {
    /// Returns the user's registration id for that handle, and deletes its duplicates, or creates a new id.
    func requestRegistration(ofUser user: Int64, handle: DeviceHandle?, now: Date) async throws -> RegistrationID

    /// Creates or updates a registration.
    ///
    /// Another registration of the same platform and handle is retired, and its queued pushes are cancelled. The pushes
    /// that wait for the device itself go to its new address. `page` is how many pushes move in one transaction; with
    /// `nil` the store decides.
    func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome

    /// Deletes a registration of the user; `false` if the id is registered to another user.
    func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool

    /// Deletes a registration of any user, and cancels its queued pushes; `false` if there is none. The record is
    /// completed with the user.
    func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool

    /// Retires a device, unless it has registered after `since` or has another handle or lane; returns whether it did.
    func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> Bool

    /// Makes the pushes that wait for the devices due at once; returns their number.
    ///
    /// `last` is the last notification that the devices have seen. With it, pushes that were accepted at the same time
    /// or later, and whose notifications have not been fetched, become due too: they may have been lost in transit.
    /// Such a push counts as enqueued once more.
    func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int
}

extension DeviceStore {
    /// Creates or updates a registration.
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
