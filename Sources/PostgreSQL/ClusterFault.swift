/// The reason why the client does not use a server that accepts writes: this server may lack data
/// that was stored before.
package struct ClusterFault: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The timeline of this server is older than `newest`, the newest timeline that was used.
        case olderTimeline(UInt32, newest: UInt32)
        /// The server belongs to another cluster, which another run of `initdb` has created.
        case otherCluster
    }

    /// The server's host and port.
    package let server: String
    package let kind: Kind
}

/// An event that a pool reports about the database's servers.
package enum ClusterEvent: Sendable, Hashable {
    /// The pool refuses the only server that accepts writes.
    case refused(ClusterFault)
    /// The pool has found a suitable server after it had refused one.
    case trusted
    /// A replica has become the primary. Without synchronous replication, it may lack commits that
    /// the former primary has confirmed.
    case advanced(ClusterIdentity)
}

extension ClusterFault: CustomStringConvertible {
    /// The description for the log, which names the server.
    package var description: String {
        switch self.kind {
        case .olderTimeline(let found, let newest):
            "\(self.server): the server is on timeline \(found), but timeline \(newest) was used before"
        case .otherCluster: "\(self.server): the server belongs to another cluster than the one used before"
        }
    }

    /// The description for callers who are not signed in, which does not name the server.
    package var summary: String {
        switch self.kind {
        case .olderTimeline: "the database is older than the one used before"
        case .otherCluster: "the database is not the one used before"
        }
    }
}
