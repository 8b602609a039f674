package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package static let registeredDevices = "\(registered) and d.user_id = ? order by d.created_at, d.id"
    package static let registeredDevice = "\(registered) and d.id = ?"
    private static let registered = """
        select \(StoredDevice.Column.list), p.accepted_at, u.name
        from device d cross join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.retired_at is null and d.handle is not null and d.claims_for is null
        """

    package static let moved = """
        select \(MovedDevice.Column.list) from device
        where user_id = ? and retired_at > ? and moved_platform is not null order by retired_at desc
        """

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            for id in devices {
                guard let number = try SQLiteStore.number(of: id, db) else { continue }
                if try db.exists(SQL(sql: SQLiteStore.isWaiting), number, now.milliseconds) { return true }
            }
            return false
        }
    }

    package static let deviceOfID = """
        select \(columns) from device d cross join account u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.number = (select coalesce(claims_for, number) from device where id = ?1)
        """

    package static let claims = """
        select d.device, d.user_id, null as id, null as name, d.lane, d.state as stage, d.attempts, d.reason,
            null as receipt_at, d.settled_at, d.due_at, c.claims_for
        from device c indexed by device_by_user cross join confirmation f on f.handle_key = c.handle_key
        cross join push d on d.notification_id = f.notification_id and d.device = c.number
        where c.user_id = ?1 and c.claims_for is not null
        """

    private static let columns = "\(StoredDevice.Column.list), \(ListedColumn.list)"

    package static let allDevices = """
        select \(columns) from device d cross join account u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.number > ?1 and d.claims_for is null order by d.number limit ?2
        """

    /// Selects one user's devices by the time of their creation. Devices with the same time are in
    /// the order of their numbers, because the index has them in this order.
    package static let devicesOfOne = """
        select \(columns) from account u cross join device d indexed by device_by_user on d.user_id = u.id
        left join device_push p on p.device = d.number
        where u.name_key = ?3 and (d.created_at, d.number) > (?4, ?1) and d.claims_for is null
        order by d.created_at, d.number limit ?2
        """
}
