public import Foundation
public import PushAPI

/// A page of a user's notifications, returned by `PushClient.sync()` or read from the cache.
public struct Inbox: Sendable, Hashable {
    /// The notifications of this page, the oldest first.
    ///
    /// A read-once notification has no payload here: `PushClient.notification(_:)` fetches it. If
    /// the publisher forbids storing a payload, only the `sync()` that fetched it returns it. A
    /// notification that has expired by the device's clock is left out of this list. The client
    /// deletes it only when it has expired by the server's clock.
    public let notifications: [NotificationItem]
    /// The ids of notifications that are new or changed since the last sync, no matter which
    /// process of the app made that sync.
    public let arrived: [Int64]
    /// The ids of notifications that were dismissed or recalled or have expired since the last
    /// sync: stop showing them.
    public let deleted: [Int64]
    /// When the inbox was last known to be complete, by the device's clock. `nil` before the end
    /// of the first sync, and while a sync fetches the whole inbox again: show "not loaded yet" in
    /// place of "nothing here".
    public let syncedAt: Date?
    /// The number of notifications in the whole inbox.
    public let count: Int
    /// The number of unread notifications in the whole inbox, for a badge.
    public let unreadCount: Int
    /// Whether the inbox has notifications older than this page:
    /// `PushClient.cachedInbox(limit:before:)` returns them.
    public let hasMore: Bool

    /// Creates an inbox for an app's own tests and previews.
    public init(
        notifications: [NotificationItem],
        arrived: [Int64] = [],
        deleted: [Int64] = [],
        syncedAt: Date? = nil,
        count: Int? = nil,
        unreadCount: Int? = nil,
        hasMore: Bool = false
    ) {
        self.notifications = notifications
        self.arrived = arrived
        self.deleted = deleted
        self.syncedAt = syncedAt
        self.count = count ?? notifications.count
        self.unreadCount = unreadCount ?? notifications.count { !$0.isRead }
        self.hasMore = hasMore
    }
}
