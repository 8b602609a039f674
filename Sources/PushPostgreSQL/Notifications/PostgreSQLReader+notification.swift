package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) async throws(StoreError) -> StoredNotification? {
        let sealing = self.store.sealing
        return try await self.read(Self.fetch, id.rawValue, user, now.milliseconds, alsoAsSender) { rows in
            guard let row = rows.first else { return nil }
            let isRecipient = try row.boolean(5)
            guard try !isRecipient || row.integer(8) == sealing.rows.recipient(of: id.rawValue, user: user) else {
                throw StoreError.damaged(row: "a recipient of notification \(id)")
            }
            return StoredNotification(
                sender: try row.integer(9),
                app: AppName(stored: try row.optionalText(10)),
                sealedPayload: try row.data(0),
                isStoredByClients: try row.boolean(1),
                isReadOnce: try row.boolean(2),
                isRecipient: isRecipient,
                readAt: try row.optionalInteger(6).map(Date.init(milliseconds:)),
                fetchedAt: try row.optionalInteger(7).map(Date.init(milliseconds:)),
                leasedUntil: try row.optionalInteger(12).map(Date.init(milliseconds:)),
                createdAt: Date(milliseconds: try row.integer(3)),
                expiresAt: Date(milliseconds: try row.integer(4)),
                changedAt: Date(milliseconds: try row.integer(11))
            )
        }
    }

    /// Where the payload may be read often, `untaken` is not even looked at.
    static let fetch = """
        select n.payload, n.is_stored_by_clients, n.is_read_once, n.created_at, n.expires_at, r.user_id is not null,
            r.read_at, r.fetched_at, r.mac, n.sender_id, n.app, coalesce(r.changed_at, n.created_at),
            case when n.is_read_once then (
                select leased_until from untaken where notification_id = n.id and user_id = $2) end
        from notification n left join recipient r on r.notification_id = n.id and r.user_id = $2
        where n.id = $1 and n.expires_at > $3 and n.payload is not null
            and (r.user_id is not null and r.dismissed_at is null
                or $4 and n.sender_id = $2 and not n.is_read_once)
            and (not n.is_read_once or not exists (
                select 1 from untaken where notification_id = n.id and user_id = $2 and leased_until <= $3))
        """

    package func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64 {
        try await self.read(Self.newest, user) { rows in try rows.first?.integer(0) ?? 0 }
    }

    /// The last number that was drawn for the user, or the one below those that can be drawn from now on.
    static let newest = """
        select greatest(
            coalesce((select change from user_change where user_id = $1), 0),
            (extract(epoch from clock_timestamp()) * 1073741824)::int8 - 1)
        """
}
