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

extension StoredNotification {
    /// Reads a fetched notification, and checks the MAC of the recipient's row.
    package init<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        _ id: NotificationID,
        for user: Int64,
        _ macs: RowMAC
    ) throws {
        let isRecipient = try row.flag(FetchColumn.isRecipient)
        guard try !isRecipient || row.integer(FetchColumn.mac) == macs.recipient(of: id.rawValue, user: user) else {
            throw StoreError.damaged(row: "a recipient of notification \(id)")
        }
        let isReadOnce = try row.flag(FetchColumn.isReadOnce)
        self.init(
            sender: try row.integer(FetchColumn.senderID),
            app: AppName(stored: try row.optionalText(FetchColumn.app)),
            sealedPayload: try row.bytes(FetchColumn.payload),
            isStoredByClients: try row.flag(FetchColumn.isStoredByClients),
            isReadOnce: isReadOnce,
            isRecipient: isRecipient,
            readAt: try row.optionalDate(FetchColumn.readAt),
            fetchedAt: try row.optionalDate(FetchColumn.fetchedAt),
            leasedUntil: isReadOnce ? try row.optionalDate(FetchColumn.leasedUntil) : nil,
            createdAt: try row.date(FetchColumn.createdAt),
            expiresAt: try row.date(FetchColumn.expiresAt),
            changedAt: try row.date(FetchColumn.changedAt)
        )
    }
}

/// The columns of a fetch, for queries that name notifications `n` and recipients `r`. If a sender
/// fetches and is no recipient, `r` has no row.
package enum FetchColumn: Int32, SelectedColumn {
    case payload, isStoredByClients, isReadOnce, createdAt, expiresAt, isRecipient, readAt, fetchedAt, mac, senderID
    case app, changedAt, leasedUntil

    package var sql: String {
        switch self {
        case .isRecipient: "r.user_id is not null"
        case .readAt, .fetchedAt, .mac: "r.\(self.columnName)"
        case .changedAt: "coalesce(r.changed_at, n.created_at)"
        case .leasedUntil:
            // For a notification that is not read-once, the databases do not read the table
            // `untaken`.
            """
            case when n.is_read_once then (
                select leased_until from untaken where notification_id = n.id and user_id = r.user_id) end
            """
        default: "n.\(self.columnName)"
        }
    }
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
