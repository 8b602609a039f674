package import Foundation
package import PushCore

/// A device as its owner sees it.
package struct RegisteredDevice: Sendable, Hashable {
    /// The device's number in the outbox.
    package let number: Int64
    package let id: RegistrationID
    package let platform: Platform
    package let handle: DeviceHandle
    package let tags: [Tag]
    package let createdAt: Date
    package let pushedAt: Date?

    package init(
        number: Int64,
        id: RegistrationID,
        platform: Platform,
        handle: DeviceHandle,
        tags: [Tag],
        createdAt: Date,
        pushedAt: Date?
    ) {
        self.number = number
        self.id = id
        self.platform = platform
        self.handle = handle
        self.tags = tags
        self.createdAt = createdAt
        self.pushedAt = pushedAt
    }
}

/// The properties that a device registers.
package struct DeviceRegistration: Sendable, Hashable {
    package let platform: Platform
    package let lane: Lane
    package let handle: DeviceHandle
    /// Without the tag of the user, which the server adds.
    package let tags: Set<Tag>

    package init(platform: Platform, lane: Lane, handle: DeviceHandle, tags: Set<Tag>) {
        self.platform = platform
        self.lane = lane
        self.handle = handle
        self.tags = tags
    }
}

/// The outcome of a registration.
package enum RegisterOutcome: Sendable, Hashable {
    /// The device is registered; `moved` pushes that waited for it have moved to the lane of its new address.
    case registered(moved: Int)
    /// The id cannot be used any more; the device must ask for a new one.
    case gone(reason: String)
    /// The user has as many devices as it may.
    case tooMany
}
