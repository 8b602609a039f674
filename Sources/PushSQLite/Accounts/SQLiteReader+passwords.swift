package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func password(chosenBy number: UInt64) throws(StoreError) -> PasswordHash? {
        try self.read { db in
            let last = try db.first(prepared: "select max(id) from user") { $0.integer(0) } ?? 0
            let sql = "select password from user where id >= ? order by id limit 1"
            return try db.first(prepared: sql, number.bucket(of: last) + 1) { PasswordHash(phc: $0.text(0)) }
        }
    }
}
