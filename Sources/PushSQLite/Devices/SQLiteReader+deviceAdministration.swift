internal import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteReader {
    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) throws(StoreError) -> [DeviceEntry] {
        try self.read { db in
            var arguments: StatementArguments = [last?.number ?? 0, limit]
            if let user { arguments += [self.sealing.index.hash(user), last?.createdAt.milliseconds ?? .min] }
            return try Row.fetchAll(
                db.cachedStatement(sql: user == nil ? Self.allDevices : Self.devicesOfOne),
                arguments: arguments
            ).compactMap { try DeviceEntry($0, self.sealing) }
        }
    }

    package func deviceEntry(_ id: RegistrationID) throws(StoreError) -> DeviceEntry? {
        try self.read { db in
            try Row.fetchOne(
                db.cachedStatement(sql: Self.deviceOfID),
                arguments: [id.description]
            ).flatMap { try DeviceEntry($0, self.sealing) }
        }
    }

    static let deviceOfID = """
        select \(entryColumns) from device d cross join user u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.id = ?1 and d.claims_for is null
        """

    private static let entryColumns = """
        d.number, d.id, d.user_id, d.platform, d.lane, d.handle, d.tags, d.created_at, d.registered_at, d.retired_at,
            d.retired_reason, u.name, p.accepted_at, (
                select max(x.fetched_at) from (
                    select r.fetched_at from recipient r where r.user_id = d.user_id
                    order by r.change desc limit \(DeviceEntry.countedForFetch)) x) as fetched_at
        """

    static let allDevices = """
        select \(entryColumns) from device d cross join user u on u.id = d.user_id
        left join device_push p on p.device = d.number
        where d.number > ?1 and d.claims_for is null order by d.number limit ?2
        """

    /// The index lists entries of the same time in the order of their numbers.
    static let devicesOfOne = """
        select \(entryColumns) from user u cross join device d indexed by device_by_user on d.user_id = u.id
        left join device_push p on p.device = d.number
        where u.name_key = ?3 and (d.created_at, d.number) > (?4, ?1) and d.claims_for is null
        order by d.created_at, d.number limit ?2
        """
}

extension DeviceEntry {
    /// `nil` if this version cannot have written the row; throws if a value cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        let number: Int64 = try row["number"]
        guard let id = try RegistrationID(row["id"]) else { return nil }
        let state: State
        if let retiredAt = try row["retired_at"] as Int64? {
            state = .retired(at: Date(milliseconds: retiredAt), reason: try row["retired_reason"])
        } else if let name = try row["platform"] as String? {
            let platform = Platform(stored: name)
            guard let handle = DeviceHandle(try sealing.text(row["handle"], in: .handle(number))) else { return nil }
            let tags = try sealing.tags(row["tags"], in: .tags(number))
            let environment = try PushEnvironment(ofLane: row["lane"], on: platform)
            state = .registered(platform, environment, handle, tags: tags)
        } else {
            state = .requested
        }
        self.init(
            id: id,
            username: try sealing.username(row["name"], ofUser: row["user_id"]),
            state: state,
            registeredAt: state == .requested ? nil : Date(milliseconds: try row["registered_at"]),
            pushedAt: try (row["accepted_at"] as Int64?).map(Date.init(milliseconds:)),
            fetchedAt: try (row["fetched_at"] as Int64?).map(Date.init(milliseconds:)),
            place: DevicePlace(createdAt: Date(milliseconds: try row["created_at"]), number: number)
        )
    }
}
