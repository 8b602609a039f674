package import Foundation
package import PushCore

/// A registration as administrators see it.
package struct DeviceEntry: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The id was issued, and the device has not registered under it.
        case requested
        case registered(Platform, PushEnvironment, DeviceHandle, tags: [Tag])
        /// A tombstone: the id cannot be registered again.
        case retired(at: Date, reason: String)
    }

    package let id: RegistrationID
    package let username: Username
    package let state: State
    /// When the device last registered; `nil` if it never has.
    package let registeredAt: Date?
    package let pushedAt: Date?
    /// When the user last fetched, with any device, one of the `countedForFetch` latest
    /// notifications in the user's list; `nil` if the user fetched none.
    package let fetchedAt: Date?
    /// The text of the device's public keys for end-to-end encryption.
    package let key: String?
    /// The device's place in the list.
    package let place: DevicePlace

    package var createdAt: Date { self.place.createdAt }

    /// The number of notifications that a list examines for each user, since receipts are rows of
    /// notifications and a user may have any number.
    package static let countedForFetch = 20
}

/// The place of a registration in lists. The list of all users is sorted by number, the list of
/// one user by the time of creation.
package struct DevicePlace: Sendable, Hashable {
    package let createdAt: Date
    package let number: Int64

    package init(createdAt: Date, number: Int64) {
        (self.createdAt, self.number) = (createdAt, number)
    }
}
