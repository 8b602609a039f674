package import Foundation

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
