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
        select d.number, d.id, d.user_id, u.name, d.platform, d.lane, d.handle, d.tags, d.created_at, d.registered_at,
            d.retired_at, d.retired_reason, p.accepted_at, (
                select max(x.fetched_at) from (
                    select r.fetched_at from recipient r where r.user_id = d.user_id
                    order by r.change desc limit \(DeviceEntry.countedForFetch)) x)
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.claims_for is null
        """
    static let deviceOfID = "\(entries) and d.id = $1"
    static let allDevices = "\(entries) and d.number > $1 order by d.number limit $2"
    static let devicesOfOne = """
        \(entries) and u.name_key = $3 and (d.created_at, d.number) > ($4, $1) order by d.created_at, d.number limit $2
        """
}

extension DeviceEntry {
    /// `nil` if this version cannot have written the row; throws if a value cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        let number = try row.integer(0)
        guard let id = RegistrationID(try row.text(1)) else { return nil }
        let state: State
        if let retiredAt = try row.optionalInteger(10) {
            state = .retired(at: Date(milliseconds: retiredAt), reason: try row.text(11))
        } else if let name = try row.optionalText(4) {
            let platform = Platform(stored: name)
            guard let handle = DeviceHandle(try sealing.text(row.data(6), in: .handle(number))) else { return nil }
            let tags = try sealing.tags(row.data(7), in: .tags(number))
            let environment = PushEnvironment(ofLane: try row.text(5), on: platform)
            state = .registered(platform, environment, handle, tags: tags)
        } else {
            state = .requested
        }
        self.init(
            id: id,
            username: try sealing.username(row.data(3), ofUser: row.integer(2)),
            state: state,
            registeredAt: state == .requested ? nil : Date(milliseconds: try row.integer(9)),
            pushedAt: try row.optionalInteger(12).map(Date.init(milliseconds:)),
            fetchedAt: try row.optionalInteger(13).map(Date.init(milliseconds:)),
            place: DevicePlace(createdAt: Date(milliseconds: try row.integer(8)), number: number)
        )
    }
}
