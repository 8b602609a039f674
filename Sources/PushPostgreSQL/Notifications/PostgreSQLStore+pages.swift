package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        try await self.withPayloads(needsPayloads) { () throws(StoreError) in
            var builder = PageBuilder(range, within: budget, now: now)
            var (start, removedAt): (Int64, Date?) = (range.start ?? 0, nil)
            // The query requests one row more than the page can have: the additional row shows
            // that there are more. If some rows add nothing to the page, the loop executes the
            // query again.
            let limit = min(range.limit, budget.rows, PageBuilder.maximumRows) + 1
            while true {
                let end = try await self.read(Self.changes, user, start, limit) { rows -> Int64? in
                    for row in rows {
                        removedAt = try row.optionalDate("removed_at")
                        if try row.optionalInteger("change") == nil { return nil }
                        guard try builder.take(row, for: user, self.sealing.rows) else { return nil }
                    }
                    return rows.count < limit ? nil : try rows[rows.count - 1].integer(ChangeColumn.change)
                }
                guard let end else { break }
                start = end
            }
            var page = builder.page
            page.removedAt = removedAt
            page.keepLatest()
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
    ) async throws(StoreError) -> NotificationPage {
        try await self.withPayloads(needsPayloads) { () throws(StoreError) in
            var page = NotificationPage(end: 0)
            page.isBeyondBudget = ids.count > budget.rows
            if page.isBeyondBudget { return page }
            let numbers = Set(ids).map(\.rawValue)
            try await self.read(Self.named, numbers, numbers.map { _ in user }) { rows in
                for row in rows {
                    page.removedAt = try row.optionalDate("removed_at")
                    if try row.optionalInteger("change") == nil { continue }
                    try page.add(row, of: app, for: user, self.sealing.rows, now: now)
                }
            }
            page.finish(within: budget)
            return page
        }
    }

    // MARK: - Private

    /// The maximum number of times that a page is read, if payloads are erased between the two
    /// statements that read it.
    private static let attempts = 5

    /// Reads a page, and also its payloads if `needsPayloads` says so.
    ///
    /// Two statements read the page and its payloads, at two moments. If a payload is erased in
    /// between, the page is read again, so that the result belongs to one moment.
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

    /// Reads the payloads of a page; `false` if one of them no longer exists.
    private func readPayloads(of page: inout NotificationPage) async throws(StoreError) -> Bool {
        let shown = page.entries.indices.filter { !page.entries[$0].isGone && !page.entries[$0].isReadOnce }
        if shown.isEmpty { return true }
        let payloads = try await self.read(Self.payloads, shown.map { page.entries[$0].id.rawValue }) { rows in
            Dictionary(try rows.map { (try $0.integer("id"), try $0.data("payload")) }) { first, _ in first }
        }
        for index in shown {
            guard let payload = payloads[page.entries[index].id.rawValue] else { return false }
            page.entries[index].sealedPayload = payload
        }
        return true
    }

    /// Selects a user's next changes, and the time of the last removal as `removed_at`. Always
    /// returns a row; if there are no changes, its other columns are null.
    static let changes = """
        select p.*, m.removed_at from (select max(at) as removed_at from removal) m left join (
            select \(ChangeColumn.list) from recipient r join notification n on n.id = r.notification_id
            where r.user_id = $1 and r.change > $2 order by r.change limit $3) p on true
        order by p.change
        """

    /// Looks up this user's row for each named notification. The user may have very many other
    /// notifications, and the query must not read them.
    static let named = """
        select p.*, m.removed_at from (select max(at) as removed_at from removal) m left join (
            select \(ChangeColumn.list) from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
            \(RecipientKey.lookup.join("*", of: "recipient", as: "r", with: "t"))
            \(KeyLookup(columns: ["id"]).join("*", of: "notification", as: "n", with: "t", ["id": "t.notification_id"]))
            ) p on true
        order by p.change
        """

    static let payloads = "select id, payload from notification where id = any($1::int8[]) and payload is not null"
}

extension NotificationPage {
    /// Removes older entries of a notification that has several entries in the page. This happens
    /// if the notification changes between two statements.
    fileprivate mutating func keepLatest() {
        let last = Dictionary(self.entries.map { ($0.id, $0.change) }) { max($0, $1) }
        if last.count < self.entries.count { self.entries.removeAll { $0.change != last[$0.id] } }
    }
}
