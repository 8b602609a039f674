package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package static let registeredDevices = """
        select \(StoredDevice.Column.list), p.accepted_at
        from device d left join device_push p on p.device = d.number
        where d.user_id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        order by d.created_at, d.id
        """

    package static let registeredDevice = """
        select \(StoredDevice.Column.list), p.accepted_at, u.name
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        """

    package static let moved = """
        select \(MovedDevice.Column.list) from device
        where user_id = $1 and retired_at > $2 and moved_platform is not null order by retired_at desc
        """

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool {
        try await self.read(Self.isWaiting, devices.map(\.description), now.milliseconds) { rows in
            try rows.first?.boolean(0) ?? false
        }
    }

    static let isWaiting = """
        select exists (
            select 1 from push p join device d on d.number = p.device
            where d.id = any($1::text[]) and p.owner is null and p.due_at > $2)
        """

    /// Selects the handles that a user has claimed but not confirmed yet, with the pushes of their
    /// confirmation codes. A push is in the table `push` until it is settled, and in `push_end`
    /// afterwards.
    package static let claims = """
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
    package static let deviceOfID = """
        \(entries) and d.number = (select coalesce(claims_for, number) from device where id = $1)
        """
    package static let allDevices = "\(entries) and d.number > $1 order by d.number limit $2"
    package static let devicesOfOne = """
        \(entries) and u.name_key = $3 and (d.created_at, d.number) > ($4, $1) order by d.created_at, d.number limit $2
        """
}
