package import Foundation
package import PushCore

/// A registration in the form for administrators.
package struct DeviceEntry: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The id was issued, but no device has registered under it yet.
        case requested
        case registered(Platform, PushEnvironment, DeviceHandle, tags: [Tag])
        /// The device was retired, and only a tombstone remains: nobody can register under the id.
        case retired(at: Date, reason: String)
    }

    package let id: RegistrationID
    package let username: Username
    package let state: State
    /// When the device last registered; `nil` if it has never registered.
    package let registeredAt: Date?
    package let pushedAt: Date?
    /// When the user last fetched one of the `countedForFetch` latest notifications in the user's
    /// list, with whatever device. `nil` if the user has not fetched any of them.
    package let fetchedAt: Date?
    /// The text of the device's public keys for end-to-end encryption.
    package let key: String?
    /// The device's place in the list.
    package let place: DevicePlace

    package var createdAt: Date { self.place.createdAt }

    /// The number of notifications that a list of devices examines for each user. The number is
    /// limited, since a user may have any number of notifications.
    package static let countedForFetch = 20
}

/// The place of a registration in lists. A list of all users' registrations is sorted by number,
/// and a list of one user's registrations by the time of creation.
package struct DevicePlace: Sendable, Hashable {
    package let createdAt: Date
    package let number: Int64

    package init(createdAt: Date, number: Int64) {
        (self.createdAt, self.number) = (createdAt, number)
    }
}
