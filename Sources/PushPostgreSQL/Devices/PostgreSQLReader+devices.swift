package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice] {
        let sealing = self.store.sealing
        return try await self.read(Self.registeredDevices, user) { rows in
            try rows.compactMap { try RegisteredDevice($0, sealing) }
        }
    }

    package func device(
        _ id: RegistrationID
    ) async throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        let sealing = self.store.sealing
        return try await self.read(Self.registeredDevice, id.description) { rows in
            guard let row = rows.first, let device = try RegisteredDevice(row, sealing) else { return nil }
            return (try DeviceOwner(row, sealing), device)
        }
    }

    static let registeredDevices = """
        select \(StoredDevice.Column.list), p.accepted_at
        from device d left join device_push p on p.device = d.number
        where d.user_id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        order by d.created_at, d.id
        """

    static let registeredDevice = """
        select \(StoredDevice.Column.list), p.accepted_at, u.name
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        """

    package func movedDevices(ofUser user: Int64, since: Date) async throws(StoreError) -> [MovedDevice] {
        try await self.read(Self.moved, user, since.milliseconds) { rows in
            try rows.compactMap { row in
                guard let id = RegistrationID(try row.text(0)) else { return nil }
                return MovedDevice(
                    id: id,
                    platform: Platform(stored: try row.text(1)),
                    createdAt: Date(milliseconds: try row.integer(2)),
                    movedAt: Date(milliseconds: try row.integer(3))
                )
            }
        }
    }

    static let moved = """
        select id, moved_platform, created_at, retired_at from device
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
}
