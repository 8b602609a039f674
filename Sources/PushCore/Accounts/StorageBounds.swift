/// Limits on the data that a user may have in the database at the same time.
package struct StorageBounds: Sendable, Hashable {
    package static let deviceRange = 1...1_000_000
    package static let notificationRange = 1...1_000_000_000
    package static let byteRange = 1...1_099_511_627_776

    /// The maximum number of registrations, not counting retired devices.
    package let devices: Int
    /// The maximum number of notifications that the user has sent and that have not expired.
    /// Recalled notifications count, too.
    package let notifications: Int
    /// The maximum number of bytes of these notifications' payloads, in their encrypted form.
    package let bytes: Int

    /// `nil` if one of the limits is outside its range.
    package init?(devices: Int, notifications: Int, bytes: Int) {
        guard
            Self.deviceRange.contains(devices), Self.notificationRange.contains(notifications),
            Self.byteRange.contains(bytes)
        else { return nil }
        (self.devices, self.notifications, self.bytes) = (devices, notifications, bytes)
    }
}

/// The storage limit that a user has reached.
package enum StorageExcess: Sendable, Hashable {
    case notifications
    case bytes
}
