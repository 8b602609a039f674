import PostgreSQL
import PushTesting

/// What the other connections to the database have read.
extension BlockingConnection {
    /// How many entries of an index were walked over, as far as connections have told: at their end.
    func entriesRead(in index: String) throws -> Int64 {
        let sql = "select idx_tup_read from pg_stat_user_indexes where indexrelname = $1"
        return try self.query(sql, index)[0].integer(0)
    }

    /// Waits until so many other connections are left.
    func awaitEnd(ofOthersBut left: Int64 = 0) async throws {
        try await eventually {
            let count = try self.query(
                "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            return try count[0].integer(0) == left
        }
    }
}
