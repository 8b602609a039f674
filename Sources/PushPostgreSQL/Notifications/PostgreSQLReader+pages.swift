package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        try await self.withPayloads(needsPayloads) { () throws(StoreError) in
            try await self.page(range, for: user, now: now, within: budget)
        }
    }

    package func notifications(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        try await self.withPayloads(needsPayloads) { () throws(StoreError) in
            try await self.page(ids, of: app, for: user, now: now, within: budget)
        }
    }

    // MARK: - Private

    /// The most reads of a page while payloads are erased between its two statements.
    private static let attempts = 5

    /// Reads a page, and its payloads if they are needed.
    ///
    /// The two statements see the database at two moments. If a payload is erased in between, it
    /// reads the page again, so that the page is a snapshot.
    private func withPayloads(
        _ needsPayloads: (NotificationPage) -> Bool,
        _ read: () async throws(StoreError) -> NotificationPage
    ) async throws(StoreError) -> NotificationPage {
        for _ in 0..<Self.attempts {
            var page = try await read()
            if page.isBeyondBudget || !needsPayloads(page) { return page }
            if try await self.readPayloads(of: &page) { return page }
        }
        throw .busy
    }

    /// Reads the payloads; `false` if one of them is gone.
    private func readPayloads(of page: inout NotificationPage) async throws(StoreError) -> Bool {
        let shown = page.entries.indices.filter { !page.entries[$0].isGone && !page.entries[$0].isReadOnce }
        if shown.isEmpty { return true }
        let payloads = try await self.read(Self.payloads, shown.map { page.entries[$0].id.rawValue }) { rows in
            Dictionary(try rows.map { (try $0.integer(0), try $0.data(1)) }) { first, _ in first }
        }
        for index in shown {
            guard let payload = payloads[page.entries[index].id.rawValue] else { return false }
            page.entries[index].sealedPayload = payload
        }
        return true
    }

    private func page(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget
    ) async throws(StoreError) -> NotificationPage {
        let macs = self.store.sealing.rows
        var builder = PageBuilder(range, within: budget, now: now)
        var (start, removedAt): (Int64, Date?) = (range.start ?? 0, nil)
        // One more row than fits shows whether there are more. A second statement is needed only
        // if some rows show nothing.
        let limit = min(range.limit, budget.rows, PageBuilder.maximumRows) + 1
        while true {
            let end = try await self.read(Self.changes, user, start, limit) { rows -> Int64? in
                for index in 0..<rows.count {
                    let row = rows[index]
                    removedAt = try row.optionalInteger(0).map(Date.init(milliseconds:))
                    guard let change = try row.optionalInteger(1) else { return nil }
                    guard builder.beginRow() else { return nil }
                    guard AppName(stored: try row.optionalText(ListColumn.app.place)) == range.app else {
                        builder.skip(change)
                        continue
                    }
                    let entry = try Self.entry(row, for: user, macs, isUnreadOnly: range.isUnreadOnly)
                    let changedAt = Date(milliseconds: try row.integer(ListColumn.changedAt.place))
                    guard builder.add(entry, changedAt: changedAt) else { return nil }
                }
                return rows.count < limit ? nil : try rows[rows.count - 1].integer(1)
            }
            guard let end else { break }
            start = end
        }
        var page = builder.page
        page.removedAt = removedAt
        page.keepLatest()
        return page
    }

    private func page(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget
    ) async throws(StoreError) -> NotificationPage {
        let macs = self.store.sealing.rows
        var page = NotificationPage(end: 0)
        page.isBeyondBudget = ids.count > budget.rows
        if page.isBeyondBudget { return page }
        let numbers = Set(ids).map(\.rawValue)
        page = try await self.read(Self.named, numbers, numbers.map { _ in user }) { rows in
            var page = page
            for index in 0..<rows.count {
                let row = rows[index]
                page.removedAt = try row.optionalInteger(0).map(Date.init(milliseconds:))
                let owner = AppName(stored: try row.optionalText(ListColumn.app.place))
                if row.isNull(1) || owner != app { continue }
                let entry = try Self.entry(row, for: user, macs, isUnreadOnly: false)
                let isExpired = entry.expiresAt <= now
                let changedAt =
                    isExpired ? entry.expiresAt : Date(milliseconds: try row.integer(ListColumn.changedAt.place))
                page.changedAt = max(page.changedAt, changedAt)
                if !isExpired, !entry.isGone { page.entries.append(entry) }
            }
            return page
        }
        page.keepWhatFits()
        page.isBeyondBudget = page.entries.reduce(0) { $0 + $1.payloadLength } > budget.bytes
        return page
    }

    private static func entry(
        _ row: Row,
        for user: Int64,
        _ macs: RowMAC,
        isUnreadOnly: Bool
    ) throws -> NotificationPage.Entry {
        func column(_ column: ListColumn) -> Int { column.place }
        let number = try row.integer(column(.id))
        guard
            let id = NotificationID(rawValue: number),
            try row.integer(column(.mac)) == macs.recipient(of: number, user: user)
        else { throw StoreError.damaged(row: "a recipient of notification \(number)") }
        let isReadOnce = try row.boolean(column(.isReadOnce))
        let isRead = !row.isNull(column(.readAt))
        let sealedLength = try row.optionalInteger(column(.payloadLength))
        let isGone = sealedLength == nil || !row.isNull(column(.dismissedAt)) || isUnreadOnly && isRead
        return NotificationPage.Entry(
            id: id,
            change: try row.integer(column(.change)),
            sender: try row.integer(column(.sender)),
            isGone: isGone,
            isStoredByClients: try row.boolean(column(.isStoredByClients)),
            isReadOnce: isReadOnce,
            isRead: isRead,
            isFetched: try row.boolean(column(.isFetched)),
            createdAt: Date(milliseconds: try row.integer(column(.createdAt))),
            expiresAt: Date(milliseconds: try row.integer(column(.expiresAt))),
            payloadLength: isGone || isReadOnce ? 0 : max(0, Int(clamping: sealedLength ?? 0) - Vault.overhead)
        )
    }

    /// The next changes of a user. Always returns a row with the time of the last removal,
    /// followed by nulls if there are no changes.
    static let changes = """
        select m.at, p.* from (select max(at) as at from removal) m left join (
            select \(ListColumn.list) from recipient r join notification n on n.id = r.notification_id
            where r.user_id = $1 and r.change > $2 order by r.change limit $3) p on true
        order by p.change
        """

    /// Compares the user for each notification: a user may have very many others, which the query
    /// must not read.
    static let named = """
        select m.at, p.* from (select max(at) as at from removal) m left join (
            select \(ListColumn.list) from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
            \(RecipientKey.lookup.join("*", of: "recipient", as: "r", with: "t"))
            \(KeyLookup(columns: ["id"]).join("*", of: "notification", as: "n", with: "t", ["id": "t.notification_id"]))
            ) p on true
        order by p.change
        """

    static let payloads = "select id, payload from notification where id = any($1::int8[]) and payload is not null"
}

extension NotificationPage {
    /// Removes entries that a later one of the same notification replaces: it was changed between
    /// two statements.
    fileprivate mutating func keepLatest() {
        let last = Dictionary(self.entries.map { ($0.id, $0.change) }) { max($0, $1) }
        if last.count < self.entries.count { self.entries.removeAll { $0.change != last[$0.id] } }
    }
}

/// The columns of lists: everything that a change number covers except the payload, which may be
/// long and is not always needed.
private enum ListColumn: Int, CaseIterable {
    case change, id, sender, payloadLength, isStoredByClients, isReadOnce, createdAt, expiresAt, readAt, dismissedAt
    case changedAt, mac, isFetched, app

    /// The index in a row, whose first column is the time of the last removal.
    var place: Int { self.rawValue + 1 }

    var sql: String {
        switch self {
        case .change: "r.change"
        case .id: "n.id"
        case .sender: "n.sender_id"
        case .payloadLength: "length(n.payload)::int8"
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

    static var list: String { self.allCases.map(\.sql).joined(separator: ", ") }
}
