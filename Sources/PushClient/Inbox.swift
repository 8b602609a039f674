public import PushAPI

/// All notifications that a user has, as of a `PushClient.sync()`.
public struct Inbox: Sendable, Hashable {
    /// The notifications, the oldest first.
    ///
    /// The payload of one that may be read only once is `nil`: `PushClient.notification(_:)` takes it. So is one that its
    /// sender has forbidden to keep, but in the answer of the very `sync()` that brought it.
    public let notifications: [NotificationItem]
    /// Those of them that are new or changed since the last time.
    public let arrived: [Int64]
    /// Those that were dismissed or recalled or have expired since the last time: stop showing them.
    public let deleted: [Int64]

    /// How many are not read, for a badge.
    public var unreadCount: Int { self.notifications.count { !$0.isRead } }
}
