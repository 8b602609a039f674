public import Foundation
public import PushAPI

/// All notifications that a user has, as of a `PushClient.refresh()` or as they are kept.
public struct Inbox: Sendable, Hashable {
    /// The notifications, the oldest first.
    ///
    /// A read-once notification has no payload here: `PushClient.notification(_:)` fetches it. A
    /// payload that its sender has forbidden to keep is only in the result of the `refresh()` that
    /// fetched it. One that has ended by the device's clock is left out; it is deleted when it has
    /// ended by the server's.
    public let notifications: [NotificationItem]
    /// The ids of those that are new or changed since the last refresh, by whichever process of
    /// the app.
    public let arrived: [Int64]
    /// The ids of notifications that were dismissed or recalled or have expired since the last
    /// refresh: stop showing them.
    public let deleted: [Int64]
    /// When it was last known to be complete, by the device's clock; `nil` if it is not yet, as
    /// before the first refresh and between its pages: show "not loaded yet" in place of "nothing
    /// here".
    public let completeAt: Date?

    /// An inbox as an app's own tests and previews want it.
    public init(
        notifications: [NotificationItem],
        arrived: [Int64] = [],
        deleted: [Int64] = [],
        completeAt: Date? = nil
    ) {
        self.notifications = notifications
        self.arrived = arrived
        self.deleted = deleted
        self.completeAt = completeAt
    }

    /// The number of unread notifications, for a badge.
    public var unreadCount: Int { self.notifications.count { !$0.isRead } }
}
