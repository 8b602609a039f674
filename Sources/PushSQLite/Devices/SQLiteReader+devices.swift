package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteReader {
    package func devices(ofUser user: Int64) throws(StoreError) -> [RegisteredDevice] {
        try self.read { db in
            let statement = try db.cachedStatement(
                sql: "\(Self.registered) and d.user_id = ? order by d.created_at, d.id"
            )
            return try Row.fetchAll(statement, arguments: [user]).compactMap {
                try RegisteredDevice($0, self.sealing)
            }
        }
    }

    package func device(_ id: RegistrationID) throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        try self.read { db in
            let statement = try db.cachedStatement(sql: "\(Self.registered) and d.id = ?")
            guard
                let row = try Row.fetchOne(statement, arguments: [id.description]),
                let device = try RegisteredDevice(row, self.sealing)
            else { return nil }
            let owner: Int64 = try row["user_id"]
            return (DeviceOwner(id: owner, name: try self.sealing.username(row["name"], ofUser: owner)), device)
        }
    }

    private static let registered = """
        select d.number, d.id, d.user_id, u.name, d.platform, d.lane, d.handle, d.tags, d.is_shared, d.created_at,
            p.accepted_at
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

extension RegisteredDevice {
    /// `nil` if this version cannot have written the row; throws if a value cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        let number: Int64 = try row["number"]
        let text = try sealing.text(row["handle"], in: .handle(number))
        guard let id = try RegistrationID(row["id"]), let handle = DeviceHandle(text) else { return nil }
        let platform = try Platform(stored: row["platform"])
        self.init(
            number: number,
            id: id,
            platform: platform,
            environment: try PushEnvironment(ofLane: row["lane"], on: platform),
            handle: handle,
            tags: try sealing.tags(row["tags"], in: .tags(number)),
            isShared: try row["is_shared"],
            createdAt: Date(milliseconds: try row["created_at"]),
            pushedAt: try (row["accepted_at"] as Int64?).map(Date.init(milliseconds:))
        )
    }
}
