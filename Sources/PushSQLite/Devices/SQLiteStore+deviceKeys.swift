package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func setKey(
        _ key: String,
        of id: RegistrationID,
        ofUser user: Int64,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write(by: record) { db in
            try db.run(
                """
                update device set encryption_key = \(key)
                where id = \(id.description) and user_id = \(user) and handle is not null and retired_at is null
                    and claims_for is null
                """
            ) > 0
        }
    }

    package func deviceKeys(of audience: HashedAudience, atMost limit: Int) async throws -> [DeviceKeyEntry]? {
        try await self.writer.write { [sealing] db in
            guard try !audience.isLarger(than: limit, db) else { return nil }
            var (walk, numbers, isLast) = (AudienceWalk(), Set<Int64>(), false)
            while !isLast {
                let next = try walk.take(AudienceWalk.page, of: audience, db)
                numbers.formUnion(next.page.devices.map(\.number))
                isLast = next.isLast
                // The limit is checked after each page, because the users of one page may have any
                // number of devices.
                guard numbers.count <= limit else { return nil }
            }
            let request: SQL = """
                select \(sql: DeviceKeyEntry.Column.list) from device d join account u on u.id = d.user_id
                where d.number in \(Array(numbers)) and \(audience.audience.app.hasUser)
                order by d.number
                """
            return try db.all(composed: request) { try DeviceKeyEntry($0, sealing) }.compactMap { $0 }
        }
    }
}
