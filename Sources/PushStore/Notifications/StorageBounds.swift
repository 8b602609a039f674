/// What a user may have in the database at a time.
package struct StorageBounds: Sendable, Hashable {
    package static let deviceRange = 1...1_000_000
    package static let notificationRange = 1...1_000_000_000
    package static let byteRange = 1...1_099_511_627_776

    /// Registrations that live.
    package let devices: Int
    /// Notifications that the user has sent and that have not expired, recalled ones included.
    package let notifications: Int
    /// Bytes of their payloads, as they are stored.
    package let bytes: Int

    /// `nil` outside of the ranges.
    package init?(devices: Int, notifications: Int, bytes: Int) {
        guard
            Self.deviceRange.contains(devices), Self.notificationRange.contains(notifications),
            Self.byteRange.contains(bytes)
        else { return nil }
        self.devices = devices
        self.notifications = notifications
        self.bytes = bytes
    }
}

/// What a user has as much of as it may.
package enum StorageExcess: Sendable, Hashable {
    case notifications
    case bytes
}
