package import Foundation
package import PushCore

/// A notification as the store has it, for a user who may see it.
package struct StoredNotification: Sendable, Hashable {
    package let sender: Int64
    package let app: AppName
    package let sealedPayload: [UInt8]
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isRecipient: Bool
    package let readAt: Date?
    package let fetchedAt: Date?
    /// When the user's lease of a read-once payload ends; `nil` before the first fetch.
    package let leasedUntil: Date?
    package let createdAt: Date
    package let expiresAt: Date
    /// When the user's view of the notification last changed.
    package let changedAt: Date
}

/// Whether a recipient has read a notification.
package enum ReadMark: Sendable, Hashable {
    case read, unread
}

/// The outcome of marking a notification.
package enum MarkOutcome: Sendable, Hashable {
    /// The notification has the mark now, and may have had it before.
    case marked
    /// The user can see no such notification.
    case missing
    /// The notification no longer had the expected mark.
    case changed
}

/// The user who recalls a notification.
package enum Recaller: Sendable, Hashable {
    case sender(Int64)
    /// The sender, who may recall it only while it is scheduled.
    case scheduler(Int64)
    case administrator

    /// Whether the user may recall a notification of that sender.
    package func mayRecall(ofSender user: Int64, isScheduled: Bool) -> Bool {
        switch self {
        case .sender(let sender): sender == user
        case .scheduler(let sender): sender == user && isScheduled
        case .administrator: true
        }
    }
}
