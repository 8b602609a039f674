import PostgreSQL
import PushTesting

/// What connections to the database have read.
extension BlockingConnection {
    /// How many entries of an index were walked over: by this connection, and by others as far as they have told, at their end.
    func entriesRead(in index: String) throws -> Int64 {
        // It tells once a second at most otherwise, so that what it had read itself would count on a slow machine alone.
        _ = try self.query("select pg_stat_force_next_flush()")
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
