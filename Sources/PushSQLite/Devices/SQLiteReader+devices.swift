package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteReader {
    package func devices(ofUser user: Int64) throws(StoreError) -> [RegisteredDevice] {
        try self.read { db in
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        select d.number, d.id, d.platform, d.lane, d.handle, d.tags, d.is_shared, d.created_at, p.accepted_at
                        from device d left join device_push p on p.device = d.number
                        where d.user_id = ? and d.retired_at is null and d.handle is not null and d.claims_for is null
                        order by d.created_at, d.id
                        """
                ),
                arguments: [user]
            )
            return try rows.compactMap { row in
                let number: Int64 = try row["number"]
                let text = try self.sealing.text(row["handle"], in: .handle(number))
                guard let id = try RegistrationID(row["id"]), let handle = DeviceHandle(text) else { return nil }
                let platform = try Platform(stored: row["platform"])
                return try RegisteredDevice(
                    number: number,
                    id: id,
                    platform: platform,
                    environment: PushEnvironment(ofLane: row["lane"], on: platform),
                    handle: handle,
                    tags: self.sealing.tags(row["tags"], in: .tags(number)),
                    isShared: row["is_shared"],
                    createdAt: Date(milliseconds: row["created_at"]),
                    pushedAt: (row["accepted_at"] as Int64?).map(Date.init(milliseconds:))
                )
            }
        }
    }

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
