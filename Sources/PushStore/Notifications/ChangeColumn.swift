package import Foundation
package import PushCore

/// The columns of a user's list, for queries that name notifications `n` and recipients `r`. They
/// have all that a user sees of a notification, except the payload: a payload may be long, and
/// lists do not always need it.
package enum ChangeColumn: Int32, SelectedColumn {
    case change, id, senderID, payloadLength, isStoredByClients, isReadOnce, createdAt, expiresAt, readAt, dismissedAt
    case changedAt, mac, isFetched, app

    package var sql: String {
        switch self {
        case .payloadLength: "cast(length(n.payload) as bigint)"
        case .changedAt: "coalesce(n.recalled_at, r.changed_at)"
        case .isFetched: "r.fetched_at is not null"
        case .change, .readAt, .dismissedAt, .mac: "r.\(self.columnName)"
        default: "n.\(self.columnName)"
        }
    }

    /// All columns except the first one, for a query with its own expression for the first.
    package static let listBehindChange = Self.allCases.dropFirst().map(\.sql).joined(separator: ", ")
}

extension NotificationPage.Entry {
    /// Reads a recipient's row, and checks its MAC.
    init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, for user: Int64, _ macs: RowMAC, isUnreadOnly: Bool) throws {
        let number = try row.integer(ChangeColumn.id)
        guard
            let id = NotificationID(rawValue: number),
            try row.integer(ChangeColumn.mac) == macs.recipient(of: number, user: user)
        else { throw StoreError.damaged(row: "a recipient of notification \(number)") }
        let isReadOnce = try row.flag(ChangeColumn.isReadOnce)
        let isRead = try row.optionalInteger(ChangeColumn.readAt) != nil
        let isDismissed = try row.optionalInteger(ChangeColumn.dismissedAt) != nil
        let sealedLength = try row.optionalInteger(ChangeColumn.payloadLength)
        let isGone = sealedLength == nil || isDismissed || isUnreadOnly && isRead
        self.init(
            id: id,
            change: try row.integer(ChangeColumn.change),
            sender: try row.integer(ChangeColumn.senderID),
            isGone: isGone,
            isStoredByClients: try row.flag(ChangeColumn.isStoredByClients),
            isReadOnce: isReadOnce,
            isRead: isRead,
            isFetched: try row.flag(ChangeColumn.isFetched),
            createdAt: try row.date(ChangeColumn.createdAt),
            expiresAt: try row.date(ChangeColumn.expiresAt),
            payloadLength: isGone || isReadOnce ? 0 : max(0, Int(clamping: sealedLength ?? 0) - Vault.overhead)
        )
    }
}

extension NotificationPage {
    /// Adds the row of a requested notification. Skips it if the notification belongs to another
    /// app, or if the user no longer sees it.
    package mutating func add<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        of app: AppName,
        for user: Int64,
        _ macs: RowMAC,
        now: Date
    ) throws {
        guard AppName(stored: try row.optionalText(ChangeColumn.app)) == app else { return }
        let entry = try Entry(row, for: user, macs, isUnreadOnly: false)
        let isExpired = entry.expiresAt <= now
        let changedAt = try isExpired ? entry.expiresAt : row.date(ChangeColumn.changedAt)
        self.changedAt = max(self.changedAt, changedAt)
        if !isExpired, !entry.isGone { self.entries.append(entry) }
    }

    /// Sorts the requested notifications by their change numbers, and keeps only the first
    /// notifications, up to the limit of a page.
    package mutating func finish(within budget: PageBudget) {
        self.entries.sort { $0.change < $1.change }
        var bytes = 0
        let fitting = self.entries.prefix { entry in
            bytes += entry.payloadLength
            return bytes <= Self.maximumBytes
        }
        // A page has at least one notification.
        let count = max(fitting.count, min(self.entries.count, 1))
        self.hasMore = count < self.entries.count
        self.entries.removeSubrange(count...)
        self.isBeyondBudget = self.entries.reduce(0) { $0 + $1.payloadLength } > budget.bytes
    }
}
