package import Foundation

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

    /// The limit that one more payload would exceed, for a user who already has stored `usage`;
    /// `nil` if the payload may be stored.
    func excess(_ usage: Usage, adding payload: Int) -> StorageExcess? {
        if usage.notifications >= Int64(self.notifications) { return .notifications }
        return usage.bytes > Int64(self.bytes - payload) ? .bytes : nil
    }
}

/// The storage limit that a user has reached.
package enum StorageExcess: Sendable, Hashable {
    case notifications
    case bytes
}

/// The number of a user's stored notifications and bytes, as the table `usage` has them.
package struct Usage: Sendable, Hashable {
    package var notifications: Int64
    /// The number of bytes of the encrypted payloads.
    package var bytes: Int64

    package init(notifications: Int64 = 0, bytes: Int64 = 0) {
        (self.notifications, self.bytes) = (notifications, bytes)
    }

    package mutating func add(_ payload: Data) {
        self.notifications += 1
        self.bytes += Int64(payload.count)
    }
}
