internal import CPostgreSQL

/// The facts about a connection's session in the server, read by the connection's first statement.
struct GivenSession {
    /// The reason why the client must not use a session that other clients also use.
    static let sharedReason = """
        a pooler before the database gives a client's transactions to different sessions, which other clients use, too \
        (PgBouncer's pool_mode = transaction, or no server_reset_query): connect directly, or set pool_mode = session and \
        server_reset_query = DISCARD ALL (docs/scale.md)
        """

    static let schemaReason = """
        the server's role may use no schema of its search_path: give it the right usage on its schema (docs/scale.md)
        """

    /// The number of the server process that serves this session.
    let process: String
    /// Whether the connection goes through a pooler. A pooler chooses the server's process only
    /// after the client has connected, so libpq's number differs from `process`.
    let isPooled: Bool
    /// Whether the session contains prepared statements of another client. Later transactions of
    /// this client could then run in another session.
    let isUsed: Bool
    /// Whether the role may use a schema of its search path. Otherwise the session would find no
    /// tables, even after the role has got the right.
    let hasSchema: Bool

    /// Reads the result of `ClusterIdentity.query`.
    init(_ result: OpaquePointer, of connection: OpaquePointer) {
        self.process = String(cString: PQgetvalue(result, 0, 5))
        self.isPooled = self.process != "\(PQbackendPID(connection))"
        self.isUsed = String(cString: PQgetvalue(result, 0, 6)) == "t"
        self.hasSchema = String(cString: PQgetvalue(result, 0, 7)) != #""", pg_temp"#
    }
}
