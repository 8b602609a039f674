internal import CPostgreSQL

/// Which cluster a server belongs to, and on which timeline of it the server writes.
///
/// A standby that becomes the primary begins the next timeline; one that goes on with an older timeline lacks what was stored
/// since.
package struct ClusterIdentity: Sendable, Hashable {
    /// A number that is given out once, when a cluster is made.
    package let system: String
    package let timeline: UInt32

    /// Functions that every role may call. The timeline of the checkpoint would be the older one for a while after a failover.
    static let query = "select system_identifier, pg_walfile_name(pg_current_wal_insert_lsn()) from pg_control_system()"

    /// `nil` if the result of the query has another form.
    init?(_ result: OpaquePointer) {
        guard PQntuples(result) == 1, PQnfields(result) == 2 else { return nil }
        self.init(
            system: String(cString: PQgetvalue(result, 0, 0)),
            segment: String(cString: PQgetvalue(result, 0, 1))
        )
    }

    /// The name of a segment of the log begins with its timeline, in 8 hexadecimal digits. `nil` if it does not.
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

/// An open connection, and what its server is.
struct OpenedConnection {
    let connection: OpaquePointer
    let identity: ClusterIdentity
}
