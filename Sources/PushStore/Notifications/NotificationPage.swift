package import Foundation
package import PushCore

/// A page of a user's notifications, oldest change first.
package struct NotificationPage: Sendable, Hashable {
    /// The largest number of payload bytes of a page, unless its first payload is larger.
    package static let maximumBytes = 1 << 20

    /// A notification in the state since its last change.
    package struct Entry: Sendable, Hashable {
        package let id: NotificationID
        /// The number of the notification's last change. It identifies everything that the user
        /// sees of the notification: each visible change gets a new number.
        package let change: Int64
        package let sender: Int64
        /// Whether the notification is no longer shown: recalled, dismissed, taken, or, in a list
        /// of unread notifications, read.
        package let isGone: Bool
        package let isStoredByClients: Bool
        package let isReadOnce: Bool
        package let isRead: Bool
        /// Whether the payload was fetched before.
        package let isFetched: Bool
        package let createdAt: Date
        package let expiresAt: Date
        /// The number of bytes of the decrypted payload; 0 if the payload is not shown.
        package let payloadLength: Int
        /// Empty unless payloads were requested.
        package var sealedPayload = Data()
    }

    package var entries: [Entry] = []
    /// The number of the last change that this page covers; the next page begins after this
    /// change.
    package var end: Int64
    /// Whether there are more changes than fit into the page.
    package var hasMore = false
    /// When the content of this page last changed, as far as the rows that still exist show.
    package var changedAt = Date.distantPast
    /// When an expired notification, which may have been on this page, was last deleted; `nil` if
    /// unknown.
    package var removedAt: Date?
    /// Whether reading stopped because the page exceeds the budget; the page is then incomplete.
    package var isBeyondBudget = false

    package init(end: Int64) {
        self.end = end
    }
}

/// The amount of data that may be read for a page while other requests wait.
package struct PageBudget: Sendable, Hashable {
    package static let unlimited = PageBudget(rows: .max, bytes: .max)

    /// The largest number of rows to examine.
    package let rows: Int
    /// The largest number of payload bytes.
    package let bytes: Int

    package init(rows: Int, bytes: Int) {
        (self.rows, self.bytes) = (rows, bytes)
    }
}

/// The range of a user's changes that is requested.
package struct ChangeRange: Sendable, Hashable {
    /// The range has only changes after this one, with tombstones; `nil`: from the beginning,
    /// without tombstones.
    package let start: Int64?
    package let limit: Int
    /// Whether read notifications count as gone.
    package let isUnreadOnly: Bool
    /// Only changes of this app's notifications.
    package let app: AppName

    package init(after start: Int64?, limit: Int, isUnreadOnly: Bool, app: AppName = .usual) {
        (self.app, self.start, self.limit, self.isUnreadOnly) = (app, start, limit, isUnreadOnly)
    }
}

extension NotificationPage {
    /// Keeps the first entries whose payloads fit into one page, and at least one.
    package mutating func keepWhatFits() {
        var bytes = 0
        let fitting = self.entries.prefix { entry in
            bytes += entry.payloadLength
            return bytes <= Self.maximumBytes
        }
        let count = max(fitting.count, min(self.entries.count, 1))
        self.hasMore = count < self.entries.count
        self.entries.removeSubrange(count...)
    }
}
