internal import CPostgreSQL

/// The server's session behind a connection, as its first statement found it.
struct GivenSession {
    /// The reason why the client must not use a session that other clients use, too.
    static let sharedReason = """
        a pooler before the database gives a client's transactions to different sessions, which other clients use, too \
        (PgBouncer's pool_mode = transaction, or no server_reset_query): connect directly, or set pool_mode = session and \
        server_reset_query = DISCARD ALL (docs/scale.md)
        """

    /// The number of the server's process.
    let process: String
    /// Whether a pooler accepts connections for the server. A pooler cannot report the true number
    /// of the server's process: it assigns a process only later.
    let isPooled: Bool
    /// Whether another client has left its prepared statements in the session. Such a statement
    /// could run in place of one of this client's own that has the same name.
    let isUsed: Bool

    /// Reads the result of `ClusterIdentity.query`.
    init(_ result: OpaquePointer, of connection: OpaquePointer) {
        self.process = String(cString: PQgetvalue(result, 0, 5))
        self.isPooled = self.process != "\(PQbackendPID(connection))"
        self.isUsed = String(cString: PQgetvalue(result, 0, 6)) == "t"
    }
}
