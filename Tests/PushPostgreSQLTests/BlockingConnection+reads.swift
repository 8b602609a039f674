import PostgreSQL
import PushTesting

/// Functions that read PostgreSQL's statistics about connections and their reads.
extension BlockingConnection {
    /// Returns the number of entries of an index that connections have read. The number includes
    /// the reads of this connection, and of connections that have ended: a connection reports its
    /// counts when it ends.
    func entriesRead(in index: String) throws -> Int64 {
        // PostgreSQL reports a session's reads at most once a second. Without this flush, the
        // reads of this connection would usually be missing.
        _ = try self.query("select pg_stat_force_next_flush()")
        let sql = "select idx_tup_read from pg_stat_user_indexes where indexrelname = $1"
        return try self.query(sql, index)[0].integer(0)
    }

    /// Waits until all other connections to the database except `left` of them have ended.
    func awaitEnd(ofOthersBut left: Int64 = 0) async throws {
        try await eventually {
            let count = try self.query(
                "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            return try count[0].integer(0) == left
        }
    }
}
