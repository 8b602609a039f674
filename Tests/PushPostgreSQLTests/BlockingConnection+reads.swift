import PostgreSQL
import PushTesting

/// Statistics about the reads of connections to the database.
extension BlockingConnection {
    /// Returns how many entries of an index were read by this connection, and by other
    /// connections that have ended and so reported their counts.
    func entriesRead(in index: String) throws -> Int64 {
        // PostgreSQL reports a session's reads at most once a second. Without this flush, this
        // connection's reads would be counted only on a slow machine.
        _ = try self.query("select pg_stat_force_next_flush()")
        let sql = "select idx_tup_read from pg_stat_user_indexes where indexrelname = $1"
        return try self.query(sql, index)[0].integer(0)
    }

    /// Waits until at most `left` other connections remain.
    func awaitEnd(ofOthersBut left: Int64 = 0) async throws {
        try await eventually {
            let count = try self.query(
                "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            return try count[0].integer(0) == left
        }
    }
}
