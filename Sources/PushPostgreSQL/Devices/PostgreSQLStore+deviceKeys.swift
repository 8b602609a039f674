internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func setKey(
        _ key: String,
        of id: RegistrationID,
        ofUser user: Int64,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write { tx in
            guard try await tx.query(Self.setKey, key, id.description, user).changed > 0 else { return false }
            if let record { tx.append(record) }
            return true
        }
    }

    private static let setKey = """
        update device set encryption_key = $1
        where id = $2 and user_id = $3 and handle is not null and retired_at is null and claims_for is null
        """

    package func deviceKeys(of audience: HashedAudience, atMost limit: Int) async throws -> [DeviceKeyEntry]? {
        try await self.write { [sealing] tx in
            let pages = AudiencePages(audience, tx)
            // If the audience is all devices, `isLarger` would return `true` without counting. So
            // this function counts the devices itself.
            if audience.branches == [.devices] {
                let devices = try await tx.query(Self.countDevices, limit + 1).first?.integer(0) ?? 0
                if devices > Int64(limit) { return nil }
            } else if try await pages.isLarger(than: limit) {
                return nil
            }
            var (walk, numbers, isLast) = (AudienceWalk(), Set<Int64>(), false)
            while !isLast {
                let next = try await pages.take(AudienceWalk.page, at: &walk)
                numbers.formUnion(next.rows.devices.map(\.number))
                isLast = next.isLast
                // The limit is checked after each page: a page of users may have more devices than
                // `AudienceWalk.page`, since a user may have several.
                guard numbers.count <= limit else { return nil }
            }
            let app = audience.audience.app
            return try await tx.query(Self.deviceKeys(app), Array(numbers), app.description)
                .compactMap { try DeviceKeyEntry($0, sealing) }
        }
    }

    private static let countDevices = "select count(*) from (select 1 from device limit $1) as x"

    static func deviceKeys(_ app: AppName) -> String {
        """
        select \(DeviceKeyEntry.Column.list) from device d join account u on u.id = d.user_id
        where d.number = any($1::bigint[])
        and \(AudienceCondition.hasUser(app, parameter: "$2"))
        order by d.number
        """
    }
}
