package import Foundation
internal import GRDB
package import PushCore

extension Reader {
    /// Bytes of payloads that a page has at most, unless its first one is larger.
    package static let pageBytes = 1 << 20
    /// Rows that are looked at for one page, most of which may show nothing.
    static let rowsLookedAt = 1000

    /// The next of a user's changes, the last of each notification, oldest first.
    ///
    /// Payloads are read only if `needsPayloads` says so about the page, which is not asked about one beyond the budget.
    /// Throws `StoreError.damaged` if one of the rows that make the user a recipient was not written by the store.
    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget = .unlimited,
        needsPayloads: (NotificationPage) -> Bool
    ) throws(StoreError) -> NotificationPage {
        try self.readDirectly { reads in
            var page = NotificationPage(end: range.start ?? 0)
            var (rows, bytes) = (0, 0)
            try reads.forEachRow(Self.changes, user, range.start ?? 0) { row in
                page.hasMore = rows == Self.rowsLookedAt
                if page.hasMore { return false }
                rows += 1
                page.isBeyondBudget = rows > budget.rows
                if page.isBeyondBudget { return false }
                let entry = try self.entry(row, for: user, isUnreadOnly: range.isUnreadOnly)
                guard entry.expiresAt > now else {
                    page.changedAt = max(page.changedAt, entry.expiresAt)
                    // It will be deleted, and a cursor that stood there would be another one then.
                    if rows == Self.rowsLookedAt { page.end = entry.change }
                    return true
                }
                page.hasMore = page.entries.count == range.limit
                if !entry.isGone || range.start != nil {
                    bytes += entry.payloadLength
                    page.hasMore = page.hasMore || !page.entries.isEmpty && bytes > Self.pageBytes
                    if page.hasMore { return false }
                    page.isBeyondBudget = bytes > budget.bytes
                    if page.isBeyondBudget { return false }
                    page.entries.append(entry)
                }
                if page.hasMore { return false }
                page.changedAt = max(page.changedAt, Date(milliseconds: row.integer(10)))
                page.end = entry.change
                return true
            }
            if !page.isBeyondBudget, needsPayloads(page) { try Self.readPayloads(of: &page, reads) }
            return page
        }
    }

    /// Those of these notifications that the user is a recipient of, oldest change first; `hasMore` if not all fit.
    package func notifications(
        _ ids: [NotificationID],
        for user: Int64,
        now: Date,
        within budget: PageBudget = .unlimited,
        needsPayloads: (NotificationPage) -> Bool
    ) throws(StoreError) -> NotificationPage {
        try self.readDirectly { reads in
            var page = NotificationPage(end: 0)
            page.isBeyondBudget = ids.count > budget.rows
            if page.isBeyondBudget { return page }
            for id in Set(ids) {
                try reads.forEachRow(Self.change, user, id.rawValue) { row in
                    let entry = try self.entry(row, for: user, isUnreadOnly: false)
                    let isExpired = entry.expiresAt <= now
                    page.changedAt = max(
                        page.changedAt,
                        isExpired ? entry.expiresAt : Date(milliseconds: row.integer(10))
                    )
                    if !isExpired, !entry.isGone { page.entries.append(entry) }
                    return true
                }
            }
            page.entries.sort { $0.change < $1.change }
            var bytes = 0
            let fitting = page.entries.prefix { entry in
                bytes += entry.payloadLength
                return bytes <= Self.pageBytes
            }
            let count = max(fitting.count, min(page.entries.count, 1))
            page.hasMore = count < page.entries.count
            page.entries.removeSubrange(count...)
            page.isBeyondBudget = page.entries.reduce(0) { $0 + $1.payloadLength } > budget.bytes
            if !page.isBeyondBudget, needsPayloads(page) { try Self.readPayloads(of: &page, reads) }
            return page
        }
    }

    // MARK: - Private

    private func entry(
        _ row: borrowing DirectRow,
        for user: Int64,
        isUnreadOnly: Bool
    ) throws -> NotificationPage.Entry {
        let number = row.integer(1)
        guard
            let id = NotificationID(rawValue: number),
            row.integer(11) == self.sealing.rows.recipient(of: number, user: user)
        else { throw StoreError.damaged(row: "a recipient of notification \(number)") }
        let isReadOnce = row.integer(5) != 0
        let isRead = !row.isNull(8)
        let isGone = row.isNull(3) || !row.isNull(9) || isUnreadOnly && isRead
        let length = isGone || isReadOnce ? 0 : max(0, Int(row.integer(3)) - Vault.overhead)
        return NotificationPage.Entry(
            id: id,
            change: row.integer(0),
            sender: row.integer(2),
            isGone: isGone,
            isStoredByClients: row.integer(4) != 0,
            isReadOnce: isReadOnce,
            isRead: isRead,
            isFetched: row.integer(12) != 0,
            createdAt: Date(milliseconds: row.integer(6)),
            expiresAt: Date(milliseconds: row.integer(7)),
            payloadLength: length
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

    /// What the number of a change stands for; without the payload, which may be long and is not always needed.
    private static let columns = """
        n.id, n.sender_id, length(n.payload), n.is_stored_by_clients, n.is_read_once, n.created_at, n.expires_at, r.read_at,
            r.dismissed_at, coalesce(n.recalled_at, r.changed_at), r.seal, r.fetched_at is not null
        """

    /// A recall from many recipients stands with the notification, and is merged in.
    static let changes = DirectQuery(
        name: .changes,
        sql: """
            select r.change, \(Reader.columns)
            from recipient r indexed by recipient_by_user cross join notification n on n.id = r.notification_id
            where r.user_id = ?1 and r.change > ?2 and n.recall_change is null
            union all
            select n.recall_change, \(Reader.columns)
            from notification n indexed by notification_by_recall
            cross join recipient r on r.notification_id = n.id and r.user_id = ?1
            where n.recall_change > ?2
            order by 1
            """
    )

    static let change = DirectQuery(
        name: .change,
        sql: """
            select coalesce(n.recall_change, r.change), \(Reader.columns)
            from notification n cross join recipient r on r.notification_id = n.id and r.user_id = ?1
            where n.id = ?2
            """
    )

    private static let payload = DirectQuery(name: .payload, sql: "select payload from notification where id = ?1")
}
