internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry] {
        let sealing = self.store.sealing
        let (number, created) = (last?.number ?? 0, last?.createdAt.milliseconds ?? .min)
        guard let user else {
            return try await self.read(Self.allDevices, number, limit) { rows in
                try rows.compactMap { try DeviceEntry($0, sealing) }
            }
        }
        return try await self.read(Self.devicesOfOne, number, limit, sealing.index.hash(user), created) { rows in
            try rows.compactMap { try DeviceEntry($0, sealing) }
        }
    }

    package func deviceEntry(_ id: RegistrationID) async throws(StoreError) -> DeviceEntry? {
        let sealing = self.store.sealing
        return try await self.read(Self.deviceOfID, id.description) { rows in
            try rows.compactMap { try DeviceEntry($0, sealing) }.first
        }
    }

    package func claims(ofUser user: Int64) async throws(StoreError) -> [ClaimEntry] {
        let sealing = self.store.sealing
        return try await self.read(Self.claims, user) { rows in
            try rows.compactMap { row in
                guard let push = try DeliveryEntry(row, sealing) else { return nil }
                return ClaimEntry(device: try row.integer(11), push: push)
            }
        }
    }

    /// A push is in `push` while it waits, and in `push_end` afterwards.
    static let claims = """
        with c as (
            select d.number, d.user_id, d.claims_for, f.notification_id
            from device d join confirmation f on f.handle_key = d.handle_key
            where d.user_id = $1 and d.claims_for is not null)
        select c.number, c.user_id, null::text, null::bytea, coalesce(p.lane, e.lane),
            coalesce(e.state, case when p.owner is null then 'queued' else 'sending' end),
            coalesce(p.attempts, e.attempts), coalesce(p.reason, e.reason), null::int8, e.settled_at, p.due_at,
            c.claims_for
        from c left join push p on p.notification_id = c.notification_id and p.device = c.number
        left join push_end e on e.notification_id = c.notification_id and e.device = c.number
        where p.device is not null or e.device is not null
        """

    private static let entries = """
        select \(StoredDevice.Column.list), \(ListedColumn.list)
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.claims_for is null
        """
    static let deviceOfID = """
        \(entries) and d.number = (select coalesce(claims_for, number) from device where id = $1)
        """
    static let allDevices = "\(entries) and d.number > $1 order by d.number limit $2"
    static let devicesOfOne = """
        \(entries) and u.name_key = $3 and (d.created_at, d.number) > ($4, $1) order by d.created_at, d.number limit $2
        """
}
