package import Foundation
package import PushCore

/// A notification, with the audience whose devices get its pushes.
package struct PushTarget: Sendable {
    package let id: Int64
    /// The notification's place in the order of notifications. It does not depend on the servers'
    /// clocks.
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
            collapseID: post.options.collapseID,
            isReadOnce: post.options.isReadOnce,
            isEndToEnd: post.options.isEndToEnd,
            expiresAt: post.expiresAt,
            audience: post.audience
        )
    }

    /// Whether the notification also goes to users who require encryption: it is end-to-end
    /// encrypted, or it tests a single device with a fixed text.
    package var isForAll: Bool { self.isEndToEnd || self.audience.isOneDevice }

    /// Whether this notification replaces the device's last one with the same collapse key,
    /// because it is newer. `nil` if the last one is this notification.
    package func replaces(_ last: Int64, sequence: Int64) -> Bool? {
        last == self.id ? nil : sequence <= self.sequence
    }
}
