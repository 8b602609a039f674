package import Foundation
package import PushCore

/// A page of a user's notifications, in the order of their last changes, the oldest first.
package struct NotificationPage: Sendable, Hashable {
    /// The maximum number of payload bytes in a page. A page with a single payload may exceed it.
    package static let maximumBytes = 1 << 20

    /// A notification in its present state.
    package struct Entry: Sendable, Hashable {
        package let id: NotificationID
        /// The number of the notification's last change. Each change that the user can see gets a
        /// new number, so the number identifies all that the user sees of the notification.
        package let change: Int64
        package let sender: Int64
        /// Whether the user no longer sees the notification: it was recalled, dismissed or
        /// collected. In a list of unread notifications, a read notification also counts as gone.
        package let isGone: Bool
        package let isStoredByClients: Bool
        package let isReadOnce: Bool
        package let isRead: Bool
        /// Whether the user has already fetched the payload.
        package let isFetched: Bool
        package let createdAt: Date
        package let expiresAt: Date
        /// The number of bytes of the decrypted payload; 0 if the page does not show the payload.
        package let payloadLength: Int
        /// The encrypted payload; empty unless payloads were requested.
        package var sealedPayload = Data()
    }

    package var entries: [Entry] = []
    /// The number of the last change that this page covers. The next page begins after this
    /// change.
    package var end: Int64
    /// Whether more changes follow than the page can contain.
    package var hasMore = false
    /// When the content of this page last changed, as far as the existing rows show.
    package var changedAt = Date.distantPast
    /// When an expired notification, which may have been on this page, was last deleted; `nil` if
    /// the time is unknown.
    package var removedAt: Date?
    /// Whether the page is incomplete because it exceeds the budget.
    package var isBeyondBudget = false

    package init(end: Int64) {
        self.end = end
    }
}

/// The amount of data that may be read for one page while other requests wait.
package struct PageBudget: Sendable, Hashable {
    package static let unlimited = PageBudget(rows: .max, bytes: .max)

    /// The maximum number of rows that are examined.
    package let rows: Int
    /// The maximum number of payload bytes that are read.
    package let bytes: Int

    package init(rows: Int, bytes: Int) {
        (self.rows, self.bytes) = (rows, bytes)
    }
}

/// The part of a user's changes that a client requests.
package struct ChangeRange: Sendable, Hashable {
    /// The number of a change: the range begins after it, and includes notifications that are
    /// gone. `nil`: the range begins with the oldest change, and leaves out notifications that are
    /// gone.
    package let start: Int64?
    package let limit: Int
    /// Whether a read notification counts as gone.
    package let isUnreadOnly: Bool
    /// The app whose notifications are in the range.
    package let app: AppName

    package init(after start: Int64?, limit: Int, isUnreadOnly: Bool, app: AppName = .usual) {
        (self.app, self.start, self.limit, self.isUnreadOnly) = (app, start, limit, isUnreadOnly)
    }
}
