internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func notification(_ fetch: NotificationFetch) throws(StoreError) -> StoredNotification? {
        let (id, user) = (fetch.id, fetch.user)
        return try self.readRow(
            .notification,
            id.rawValue,
            user,
            fetch.now.milliseconds,
            fetch.alsoAsSender ? 1 : 0
        ) { try StoredNotification($0, id, for: user, self.sealing.rows) }
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
}
