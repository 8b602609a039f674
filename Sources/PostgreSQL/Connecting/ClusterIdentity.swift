internal import CPostgreSQL

/// The cluster that a server belongs to, and the timeline where the server writes.
///
/// A replica that becomes the primary begins the next timeline. A server that continues on an
/// older timeline lacks the data that was stored since then.
package struct ClusterIdentity: Sendable, Hashable {
    /// A number that `initdb` assigns once, when it creates a cluster.
    package let system: String
    package let timeline: UInt32

    /// The first statement of each session. It reads the server's identity, the number of its
    /// process, and the settings that make a confirmed commit durable. It also sets the
    /// `SessionSettings`.
    ///
    /// It reduces `search_path` to the first schema, so that names refer to no object of another
    /// schema. It sets `synchronous_commit` to `on` if a role, a database or the server has set it
    /// to `off` or `local`. It calls only functions that every role may call. It does not read the
    /// checkpoint's timeline, which stays the older one for a while after a failover.
    static func query(_ settings: SessionSettings) -> String {
        """
        select system_identifier, pg_walfile_name(pg_current_wal_insert_lsn()), current_setting('fsync'),
            current_setting('full_page_writes'),
            case when current_setting('synchronous_commit') in ('on', 'remote_write', 'remote_apply')
                then current_setting('synchronous_commit') else set_config('synchronous_commit', 'on', false) end,
            pg_backend_pid(), exists (select 1 from pg_prepared_statements),
            set_config('search_path',
                coalesce(quote_ident((array_remove(current_schemas(false), 'pg_catalog'))[1]), '""') || ', pg_temp', false),
            \(settings.assignments)
        from pg_control_system()
        """
    }

    /// Reads the result of the first statement; throws if the server must not be used.
    init(_ result: OpaquePointer) throws(ConnectFailure) {
        guard PQresultStatus(result) == PGRES_TUPLES_OK else { throw ConnectFailure(ServerReport(result).message) }
        guard PQntuples(result) == 1, PQnfields(result) > 7 else {
            throw ConnectFailure("the server does not report its identity")
        }
        let values = (0..<5).map { String(cString: PQgetvalue(result, 0, $0)) }
        for (name, value) in [("fsync", values[2]), ("full_page_writes", values[3])] where value != "on" {
            throw ConnectFailure(
                "the server has \(name) = \(value), so a crash loses confirmed commits; set \(name) = on there"
            )
        }
        guard ["on", "remote_write", "remote_apply"].contains(values[4]) else {
            throw ConnectFailure(
                "the server keeps synchronous_commit = \(values[4]) for this session; it must be on, remote_write or remote_apply"
            )
        }
        guard let identity = Self(system: values[0], segment: values[1]) else {
            throw ConnectFailure("the server does not report its identity")
        }
        self = identity
    }

    /// Reads the timeline from the name of a segment of the write-ahead log, which begins with the
    /// timeline in 8 hexadecimal digits. `nil` for a name in another form.
    init?(system: String, segment: String) {
        let digits = segment.prefix(8)
        guard digits.utf8.count == 8, let timeline = UInt32(digits, radix: 16) else { return nil }
        self.init(system: system, timeline: timeline)
    }

    package init(system: String, timeline: UInt32) {
        self.system = system
        self.timeline = timeline
    }
}

/// An open connection, and the identity of its server.
struct OpenedConnection {
    let connection: OpaquePointer
    let identity: ClusterIdentity
}
