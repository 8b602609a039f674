public import PushAPI

/// All notifications that a user has, as of a `PushClient.sync()`.
public struct Inbox: Sendable, Hashable {
    /// The notifications, the oldest first.
    ///
    /// A read-once notification has no payload here: `PushClient.notification(_:)` fetches it. A payload that its
    /// sender has forbidden to keep is only in the result of the `sync()` that fetched it.
    public let notifications: [NotificationItem]
    /// The ids of those that are new or changed since the last sync.
    public let arrived: [Int64]
    /// The ids of notifications that were dismissed or recalled or have expired since the last sync: stop showing them.
    public let deleted: [Int64]

    /// The number of unread notifications, for a badge.
    public var unreadCount: Int { self.notifications.count { !$0.isRead } }
}
