package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func devices(ofUser user: Int64) throws(StoreError) -> [RegisteredDevice] {
        try self.read { db in
            try db.all(prepared: "\(Self.registered) and d.user_id = ? order by d.created_at, d.id", user) {
                try RegisteredDevice($0, self.sealing)
            }
        }.compactMap(\.self)
    }

    package func device(_ id: RegistrationID) throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        try self.read { db in
            try db.first(prepared: "\(Self.registered) and d.id = ?", id.description) { row in
                try RegisteredDevice(row, self.sealing).map { (try DeviceOwner(row, self.sealing), $0) }
            } ?? nil
        }
    }

    private static let registered = """
        select \(StoredDevice.Column.list), p.accepted_at, u.name
        from device d cross join user u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.retired_at is null and d.handle is not null and d.claims_for is null
        """

    package func movedDevices(ofUser user: Int64, since: Date) throws(StoreError) -> [MovedDevice] {
        try self.read { db in
            try db.all(prepared: Self.moved, user, since.milliseconds) { row in
                RegistrationID(row.text(0)).map { id in
                    MovedDevice(
                        id: id,
                        platform: Platform(stored: row.text(1)),
                        createdAt: Date(milliseconds: row.integer(2)),
                        movedAt: Date(milliseconds: row.integer(3))
                    )
                }
            }.compactMap(\.self)
        }
    }

    static let moved = """
        select id, moved_platform, created_at, retired_at from device
        where user_id = ? and retired_at > ? and moved_platform is not null order by retired_at desc
        """

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            for id in devices {
                guard let number = try SQLiteStore.number(of: id, db) else { continue }
                let isWaiting = try db.first(prepared: SQLiteStore.isWaiting, number, now.milliseconds) { _ in true }
                if isWaiting == true { return true }
            }
            return false
        }
    }
}
