package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) throws(StoreError) -> NotificationPage {
        try self.readDirectly { reads in
            var builder = PageBuilder(range, within: budget, now: now)
            try reads.forEachRow(Self.changes, user, range.start ?? 0) { row in
                guard builder.beginRow() else { return false }
                guard AppName(stored: row.optionalText(ChangeColumn.app)) == range.app else {
                    builder.skip(row.integer(ChangeColumn.change))
                    return true
                }
                let entry = try self.entry(row, for: user, isUnreadOnly: range.isUnreadOnly)
                return builder.add(entry, changedAt: Date(milliseconds: row.integer(ChangeColumn.changedAt)))
            }
            var page = builder.page
            // The clock is read after the rows, since a deletion sets it before its commit.
            page.removedAt = self.removals.latest
            if !page.isBeyondBudget, needsPayloads(page) { try Self.readPayloads(of: &page, reads) }
            return page
        }
    }

    package func notifications(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) throws(StoreError) -> NotificationPage {
        try self.readDirectly { reads in
            var page = NotificationPage(end: 0)
            page.isBeyondBudget = ids.count > budget.rows
            if page.isBeyondBudget { return page }
            for id in Set(ids) { try self.add(id, of: app, for: user, now: now, to: &page, reads) }
            page.removedAt = self.removals.latest
            page.entries.sort { $0.change < $1.change }
            page.keepWhatFits()
            page.isBeyondBudget = page.entries.reduce(0) { $0 + $1.payloadLength } > budget.bytes
            if !page.isBeyondBudget, needsPayloads(page) { try Self.readPayloads(of: &page, reads) }
            return page
        }
    }

    // MARK: - Private

    private func add(
        _ id: NotificationID,
        of app: AppName,
        for user: Int64,
        now: Date,
        to page: inout NotificationPage,
        _ reads: DirectReads
    ) throws {
        try reads.forEachRow(Self.change, user, id.rawValue) { row in
            guard AppName(stored: row.optionalText(ChangeColumn.app)) == app else { return true }
            let entry = try self.entry(row, for: user, isUnreadOnly: false)
            let isExpired = entry.expiresAt <= now
            let changedAt = isExpired ? entry.expiresAt : Date(milliseconds: row.integer(ChangeColumn.changedAt))
            page.changedAt = max(page.changedAt, changedAt)
            if !isExpired, !entry.isGone { page.entries.append(entry) }
            return true
        }
    }

    private func entry(
        _ row: borrowing DirectRow,
        for user: Int64,
        isUnreadOnly: Bool
    ) throws -> NotificationPage.Entry {
        let number = row.integer(ChangeColumn.id)
        guard
            let id = NotificationID(rawValue: number),
            row.integer(ChangeColumn.mac) == self.sealing.rows.recipient(of: number, user: user)
        else { throw StoreError.damaged(row: "a recipient of notification \(number)") }
        let isReadOnce = row.flag(ChangeColumn.isReadOnce)
        let isRead = !row.isNull(ChangeColumn.readAt)
        let hasPayload = !row.isNull(ChangeColumn.payloadLength)
        let isGone = !hasPayload || !row.isNull(ChangeColumn.dismissedAt) || isUnreadOnly && isRead
        let sealedLength = Int(row.integer(ChangeColumn.payloadLength))
        return NotificationPage.Entry(
            id: id,
            change: row.integer(ChangeColumn.change),
            sender: row.integer(ChangeColumn.sender),
            isGone: isGone,
            isStoredByClients: row.flag(ChangeColumn.isStoredByClients),
            isReadOnce: isReadOnce,
            isRead: isRead,
            isFetched: row.flag(ChangeColumn.isFetched),
            createdAt: Date(milliseconds: row.integer(ChangeColumn.createdAt)),
            expiresAt: Date(milliseconds: row.integer(ChangeColumn.expiresAt)),
            payloadLength: isGone || isReadOnce ? 0 : max(0, sealedLength - Vault.overhead)
        )
    }

    private static func readPayloads(of page: inout NotificationPage, _ reads: DirectReads) throws {
        for index in page.entries.indices where !page.entries[index].isGone && !page.entries[index].isReadOnce {
            try reads.forEachRow(Self.payload, page.entries[index].id.rawValue) { row in
                page.entries[index].sealedPayload = row.data(0)
                return false
            }
        }
    }

    /// A recall from many recipients is stored with the notification, and merged in.
    static let changes = DirectQuery(
        name: .changes,
        sql: """
            select r.change, \(ChangeColumn.listBehindChange)
            from recipient r indexed by recipient_by_user cross join notification n on n.id = r.notification_id
            where r.user_id = ?1 and r.change > ?2 and n.recall_change is null
            union all
            select n.recall_change, \(ChangeColumn.listBehindChange)
            from notification n indexed by notification_by_recall
            cross join recipient r on r.notification_id = n.id and r.user_id = ?1
            where n.recall_change > ?2
            order by 1
            """
    )

    static let change = DirectQuery(
        name: .change,
        sql: """
            select \(ChangeColumn.list)
            from notification n cross join recipient r on r.notification_id = n.id and r.user_id = ?1
            where n.id = ?2
            """
    )

    private static let payload = DirectQuery(name: .payload, sql: "select payload from notification where id = ?1")
}

/// The columns of `changes` and `change`: everything that the number of a change identifies,
/// except the payload. A payload may be long and is not always needed.
private enum ChangeColumn: Int32, SelectedColumn {
    case change, id, sender, payloadLength, isStoredByClients, isReadOnce, createdAt, expiresAt, readAt, dismissedAt
    case changedAt, mac, isFetched, app

    var sql: String {
        switch self {
        case .change: "coalesce(n.recall_change, r.change)"
        case .id: "n.id"
        case .sender: "n.sender_id"
        case .payloadLength: "length(n.payload)"
        case .isStoredByClients: "n.is_stored_by_clients"
        case .isReadOnce: "n.is_read_once"
        case .createdAt: "n.created_at"
        case .expiresAt: "n.expires_at"
        case .readAt: "r.read_at"
        case .dismissedAt: "r.dismissed_at"
        case .changedAt: "coalesce(n.recalled_at, r.changed_at)"
        case .mac: "r.mac"
        case .isFetched: "r.fetched_at is not null"
        case .app: "n.app"
        }
    }

    /// All columns but the first, which a query may select in its own way.
    static var listBehindChange: String { self.allCases.dropFirst().map(\.sql).joined(separator: ", ") }
}
