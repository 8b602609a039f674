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

    private static let entries = """
        select \(StoredDevice.Column.list), \(ListedColumn.list)
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.claims_for is null
        """
    static let deviceOfID = "\(entries) and d.id = $1"
    static let allDevices = "\(entries) and d.number > $1 order by d.number limit $2"
    static let devicesOfOne = """
        \(entries) and u.name_key = $3 and (d.created_at, d.number) > ($4, $1) order by d.created_at, d.number limit $2
        """
}
