package import Foundation
internal import PushCore

/// The notification that is pushed to the devices of an audience.
package struct PushTarget: Sendable {
    package let id: Int64
    /// The notification's place in the order of notifications, which does not depend on the clocks
    /// of the servers.
    package let sequence: Int64
    package let collapseID: String?
    package let isReadOnce: Bool
    package let isEndToEnd: Bool
    package let expiresAt: Date
    package let audience: HashedAudience
}

extension PushTarget {
    package init(_ post: NewNotification, sequence: Int64) {
        self.init(
            id: post.id.rawValue,
            sequence: sequence,
            collapseID: post.collapseID,
            isReadOnce: post.isReadOnce,
            isEndToEnd: post.isEndToEnd,
            expiresAt: post.expiresAt,
            audience: post.audience
        )
    }

    /// Whether users who require encryption get the notification, too. They get end-to-end
    /// payloads, and the fixed text that tests one device.
    package var isForAll: Bool { self.isEndToEnd || self.audience.isOneDevice }

    /// Whether this notification replaces the device's last one with the same collapse key: the
    /// device gets only the newest. `nil` if this notification is the last one.
    package func replaces(_ last: Int64, sequence: Int64) -> Bool? {
        last == self.id ? nil : sequence <= self.sequence
    }
}
