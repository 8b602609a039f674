package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func password(chosenBy number: UInt64) throws(StoreError) -> PasswordHash? {
        try self.read { db in
            let last = try Int64.fetchOne(try db.cachedStatement(sql: "select max(id) from user")) ?? 0
            let statement = try db.cachedStatement(sql: "select password from user where id >= ? order by id limit 1")
            return try String.fetchOne(statement, arguments: [number.bucket(of: last) + 1]).map(PasswordHash.init(phc:))
        }
    }
}
