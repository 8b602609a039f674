internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) throws(StoreError) -> [DeviceEntry] {
        try self.read { db in
            let (number, created) = (last?.number ?? 0, last?.createdAt.milliseconds ?? .min)
            guard let user else {
                return try db.all(prepared: Self.allDevices, number, limit) { try DeviceEntry($0, self.sealing) }
            }
            let key = self.sealing.index.hash(user)
            return try db.all(prepared: Self.devicesOfOne, number, limit, key, created) {
                try DeviceEntry($0, self.sealing)
            }
        }.compactMap(\.self)
    }

    package func deviceEntry(_ id: RegistrationID) throws(StoreError) -> DeviceEntry? {
        try self.read { db in
            try db.all(prepared: Self.deviceOfID, id.description) { try DeviceEntry($0, self.sealing) }
        }.compactMap(\.self).first
    }

    static let deviceOfID = """
        select \(columns) from device d cross join user u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.number = (select coalesce(claims_for, number) from device where id = ?1)
        """

    package func claims(ofUser user: Int64) throws(StoreError) -> [ClaimEntry] {
        try self.read { db in
            try db.all(prepared: Self.claims, user) { row -> ClaimEntry? in
                guard let push = try DeliveryEntry(row, self.sealing) else { return nil }
                return ClaimEntry(device: row.integer(11), push: push)
            }.compactMap(\.self)
        }
    }

    static let claims = """
        select d.device, d.user_id, null as id, null as name, d.lane, d.state as stage, d.attempts, d.reason,
            null as receipt_at, d.settled_at, d.due_at, c.claims_for
        from device c indexed by device_by_user cross join confirmation f on f.handle_key = c.handle_key
        cross join delivery d on d.notification_id = f.notification_id and d.device = c.number
        where c.user_id = ?1 and c.claims_for is not null
        """

    private static let columns = "\(StoredDevice.Column.list), \(ListedColumn.list)"

    static let allDevices = """
        select \(columns) from device d cross join user u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.number > ?1 and d.claims_for is null order by d.number limit ?2
        """

    /// The index lists entries of the same time in the order of their numbers.
    static let devicesOfOne = """
        select \(columns) from user u cross join device d indexed by device_by_user on d.user_id = u.id
        left join device_push p on p.device = d.number
        where u.name_key = ?3 and (d.created_at, d.number) > (?4, ?1) and d.claims_for is null
        order by d.created_at, d.number limit ?2
        """
}
