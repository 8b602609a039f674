package import Foundation
package import PushCore

/// A stored notification, for a user who may see it.
package struct StoredNotification: Sendable, Hashable {
    package let sender: Int64
    package let app: AppName
    package let sealedPayload: [UInt8]
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isRecipient: Bool
    package let readAt: Date?
    package let fetchedAt: Date?
    /// The end of the user's lease of a read-once payload; `nil` before the first fetch.
    package let leasedUntil: Date?
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification last changed for this user.
    package let changedAt: Date
}

/// Whether a recipient has read a notification.
package enum ReadMark: Sendable, Hashable {
    case read, unread
}

/// The outcome of marking a notification as read or unread.
package enum MarkOutcome: Sendable, Hashable {
    /// The notification now has the requested mark; it may have had it before.
    case marked
    /// The user sees no notification with this id.
    case missing
    /// The notification does not have the expected mark any more.
    case changed
}

/// The user who recalls a notification, with the right to do so.
package enum Recaller: Sendable, Hashable {
    case sender(Int64)
    /// The sender, who may recall the notification only as long as it is scheduled.
    case scheduler(Int64)
    case administrator

    /// Whether this user may recall a notification that `user` has sent.
    package func mayRecall(ofSender user: Int64, isScheduled: Bool) -> Bool {
        switch self {
        case .sender(let sender): sender == user
        case .scheduler(let sender): sender == user && isScheduled
        case .administrator: true
        }
    }
}
