package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func notification(_ fetch: NotificationFetch) throws(StoreError) -> StoredNotification? {
        let (id, user, now) = (fetch.id, fetch.user, fetch.now.milliseconds)
        return try self.readDirectly {
            let row = try self.rows(.notification, id.rawValue, user, now, fetch.alsoAsSender ? 1 : 0)
            return try row.step() ? StoredNotification(row, id, for: user, self.sealing.rows) : nil
        }
    }

    static let fetch = """
        select \(FetchColumn.list)
        from notification n
        left join recipient r on r.notification_id = n.id and r.user_id = ?2
        where n.id = ?1 and n.expires_at > ?3 and n.payload is not null
            and (r.user_id is not null and r.dismissed_at is null or (?4 and n.sender_id = ?2 and not n.is_read_once))
            and not (n.is_read_once and exists (
                select 1 from untaken where notification_id = n.id and user_id = ?2 and leased_until <= ?3))
        """

    package static let apps =
        "select id, app from notification where id in (select value from json_each(?)) and expires_at > ?"

    package func newestChange(ofUser user: Int64) -> Int64 { self.changes.newest }

    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) throws(StoreError) -> NotificationPage {
        try self.readDirectly {
            var builder = PageBuilder(range, within: budget, now: now)
            let row = try self.rows(.changes, user, range.start ?? 0)
            while try row.step(), try builder.take(row, for: user, self.sealing.rows) {}
            var page = builder.page
            // The time of the last deletion is read after the rows. A deletion records its time
            // before its commit. So if the rows show the effect of a deletion, `removedAt` is not
            // earlier than the time of that deletion.
            page.removedAt = self.removals.latest
            if !page.isBeyondBudget, needsPayloads(page) { try self.readPayloads(of: &page) }
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
        try self.readDirectly {
            var page = NotificationPage(end: 0)
            page.isBeyondBudget = ids.count > budget.rows
            if page.isBeyondBudget { return page }
            for id in Set(ids) {
                let row = try self.rows(.change, user, id.rawValue)
                while try row.step() { try page.add(row, of: app, for: user, self.sealing.rows, now: now) }
            }
            page.removedAt = self.removals.latest
            page.finish(within: budget)
            if !page.isBeyondBudget, needsPayloads(page) { try self.readPayloads(of: &page) }
            return page
        }
    }

    // MARK: - Private

    private func readPayloads(of page: inout NotificationPage) throws {
        for index in page.entries.indices where !page.entries[index].isGone && !page.entries[index].isReadOnce {
            let row = try self.rows(.payload, page.entries[index].id.rawValue)
            if try row.step() { page.entries[index].sealedPayload = try row.data() }
        }
    }

    /// Selects a user's next changes. They include recalls that had many recipients, whose change
    /// number is stored with the notification.
    static let changes = """
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

    static let change = """
        select coalesce(n.recall_change, r.change), \(ChangeColumn.listBehindChange)
        from notification n cross join recipient r on r.notification_id = n.id and r.user_id = ?1
        where n.id = ?2
        """
}
