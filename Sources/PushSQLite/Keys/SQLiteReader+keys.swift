package import PushStore
internal import SQLite

extension SQLiteReader {
    package func countSealed() throws(StoreError) -> Int {
        try self.read { db in
            try SealedColumn.all.reduce(0) { count, column in
                try count + (db.first(prepared: "select count(*) from \(column.table)") { Int($0.integer(0)) } ?? 0)
            }
        }
    }
}
