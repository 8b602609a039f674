package import Foundation
package import PushCore

/// A page of a user's notifications, oldest change first.
package struct NotificationPage: Sendable, Hashable {
    /// Bytes of payloads that a page has at most, unless its first one is larger.
    package static let maximumBytes = 1 << 20

    /// A notification as it is since its last change.
    package struct Entry: Sendable, Hashable {
        package let id: NotificationID
        /// The number of that change. It stands for all that the user sees of it: whatever changes has another.
        package let change: Int64
        package let sender: Int64
        /// Not shown any more: recalled, dismissed, taken, or read in a list of what is not.
        package let isGone: Bool
        package let isStoredByClients: Bool
        package let isReadOnce: Bool
        package let isRead: Bool
        /// Whether the payload was collected before.
        package let isFetched: Bool
        package let createdAt: Date
        package let expiresAt: Date
        /// Bytes of the payload, in clear; 0 where it is not shown.
        package let payloadLength: Int
        /// Empty unless it was asked for.
        package var sealedPayload = Data()

        package init(
            id: NotificationID,
            change: Int64,
            sender: Int64,
            isGone: Bool,
            isStoredByClients: Bool,
            isReadOnce: Bool,
            isRead: Bool,
            isFetched: Bool,
            createdAt: Date,
            expiresAt: Date,
            payloadLength: Int
        ) {
            self.id = id
            self.change = change
            self.sender = sender
            self.isGone = isGone
            self.isStoredByClients = isStoredByClients
            self.isReadOnce = isReadOnce
            self.isRead = isRead
            self.isFetched = isFetched
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.payloadLength = payloadLength
        }
    }

    package var entries: [Entry] = []
    /// The number of the last change that this page has come to: the next one begins behind it.
    package var end: Int64
    /// Whether there is more than fits.
    package var hasMore = false
    /// When what the user sees here last became another, as far as rows tell that are still there.
    package var changedAt = Date.distantPast
    /// When something was last deleted that had expired, and may have been on this page before; `nil` if that is not known.
    package var removedAt: Date?
    /// Whether it was given up because it takes more than the budget: it is then not what was asked for.
    package var isBeyondBudget = false

    package init(end: Int64) {
        self.end = end
    }
}

/// How much may be read for a page where others wait meanwhile.
package struct PageBudget: Sendable, Hashable {
    package static let unlimited = PageBudget(rows: .max, bytes: .max)

    /// Rows that are looked at.
    package let rows: Int
    /// Bytes of payloads.
    package let bytes: Int

    package init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// Which of a user's changes are asked for.
package struct ChangeRange: Sendable, Hashable {
    /// Behind this one, with tombstones; `nil`: from the beginning, and only what is there.
    package let start: Int64?
    package let limit: Int
    /// What has been read is then as good as gone.
    package let isUnreadOnly: Bool

    package init(after start: Int64?, limit: Int, isUnreadOnly: Bool) {
        self.start = start
        self.limit = limit
        self.isUnreadOnly = isUnreadOnly
    }
}
