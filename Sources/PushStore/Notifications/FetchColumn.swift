internal import Foundation
package import PushCore

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
        self.init(
            sender: try row.integer(FetchColumn.senderID),
            app: AppName(stored: try row.optionalText(FetchColumn.app)),
            sealedPayload: try row.bytes(FetchColumn.payload),
            isStoredByClients: try row.flag(FetchColumn.isStoredByClients),
            isReadOnce: try row.flag(FetchColumn.isReadOnce),
            isRecipient: isRecipient,
            readAt: try row.optionalDate(FetchColumn.readAt),
            fetchedAt: try row.optionalDate(FetchColumn.fetchedAt),
            leasedUntil: try row.optionalDate(FetchColumn.leasedUntil),
            createdAt: try row.date(FetchColumn.createdAt),
            expiresAt: try row.date(FetchColumn.expiresAt),
            changedAt: try row.date(FetchColumn.changedAt)
        )
    }
}
