package import PushStore
internal import SQLite

extension SQLiteReader {
    package func countSealed() throws(StoreError) -> Int {
        try self.read { db in
            try SealedColumn.all.reduce(0) { count, column in
                try count + (Int.fetchOne(db, sql: "select count(*) from \(column.table)") ?? 0)
            }
        }
    }
}
