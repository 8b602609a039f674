package import Foundation
internal import PushCore

extension StorageBounds {
    /// The limit that one more payload would exceed, for a user who already has stored `usage`;
    /// `nil` if the payload may be stored.
    func excess(_ usage: Usage, adding payload: Int) -> StorageExcess? {
        if usage.notifications >= Int64(self.notifications) { return .notifications }
        return usage.bytes > Int64(self.bytes - payload) ? .bytes : nil
    }
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
