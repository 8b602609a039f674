package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) throws(StoreError) -> StoredNotification? {
        try self.readRow(Self.fetch, id.rawValue, user, now.milliseconds, alsoAsSender ? 1 : 0) { row in
            let isRecipient = row.flag(FetchColumn.isRecipient)
            guard
                !isRecipient
                    || row.integer(FetchColumn.mac) == self.sealing.rows.recipient(of: id.rawValue, user: user)
            else { throw StoreError.damaged(row: "a recipient of notification \(id)") }
            return StoredNotification(
                sender: row.integer(FetchColumn.sender),
                app: AppName(stored: row.optionalText(FetchColumn.app)),
                sealedPayload: row.bytes(FetchColumn.payload),
                isStoredByClients: row.flag(FetchColumn.isStoredByClients),
                isReadOnce: row.flag(FetchColumn.isReadOnce),
                isRecipient: isRecipient,
                readAt: row.date(FetchColumn.readAt),
                fetchedAt: row.date(FetchColumn.fetchedAt),
                leasedUntil: row.date(FetchColumn.leasedUntil),
                createdAt: Date(milliseconds: row.integer(FetchColumn.createdAt)),
                expiresAt: Date(milliseconds: row.integer(FetchColumn.expiresAt)),
                changedAt: Date(milliseconds: row.integer(FetchColumn.changedAt))
            )
        }
    }

    static let fetch = DirectQuery(
        name: .notification,
        sql: """
            select \(FetchColumn.list)
            from notification n
            left join recipient r on r.notification_id = n.id and r.user_id = ?2
            where n.id = ?1 and n.expires_at > ?3 and n.payload is not null
                and (r.user_id is not null and r.dismissed_at is null or (?4 and n.sender_id = ?2 and not n.is_read_once))
                and not (n.is_read_once and exists (
                    select 1 from untaken where notification_id = n.id and user_id = ?2 and leased_until <= ?3))
            """
    )

    package func apps(of ids: [NotificationID], now: Date) throws(StoreError) -> [NotificationID: AppName] {
        try self.read { db in
            var apps: [NotificationID: AppName] = [:]
            for id in ids {
                apps[id] = try db.first(
                    prepared: "select app from notification where id = ? and expires_at > ?",
                    id.rawValue,
                    now.milliseconds
                ) { AppName(stored: $0.optionalText(0)) }
            }
            return apps
        }
    }

    package func newestChange(ofUser user: Int64) -> Int64 { self.changes.newest }
}

/// The columns of `fetch`.
private enum FetchColumn: Int32, SelectedColumn {
    case payload, isStoredByClients, isReadOnce, createdAt, expiresAt, isRecipient, readAt, fetchedAt, mac, sender,
        app, changedAt, leasedUntil

    var sql: String {
        switch self {
        case .payload: "n.payload"
        case .isStoredByClients: "n.is_stored_by_clients"
        case .isReadOnce: "n.is_read_once"
        case .createdAt: "n.created_at"
        case .expiresAt: "n.expires_at"
        case .isRecipient: "r.user_id is not null"
        case .readAt: "r.read_at"
        case .fetchedAt: "r.fetched_at"
        case .mac: "r.mac"
        case .sender: "n.sender_id"
        case .app: "n.app"
        case .changedAt: "coalesce(r.changed_at, n.created_at)"
        case .leasedUntil:
            // For other notifications SQLite does not read the table.
            """
            case when n.is_read_once then (
                select leased_until from untaken where notification_id = n.id and user_id = ?2) end
            """
        }
    }
}
