/// The reason why a server that takes writes is not used: it may lack data that was stored before.
package struct ClusterFault: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The server's timeline, and the newest that was used.
        case olderTimeline(UInt32, newest: UInt32)
        /// Another `initdb` has created the server's cluster.
        case otherCluster
    }

    /// The server's host and port.
    package let server: String
    package let kind: Kind
}

/// The events of a pool about the servers that it finds.
package enum ClusterEvent: Sendable, Hashable {
    /// The pool refuses the only server that takes writes.
    case refused(ClusterFault)
    /// The pool uses a server again.
    case trusted
    /// A replica has become the primary. Without synchronous replication it may lack commits that
    /// the last primary confirmed.
    case advanced(ClusterIdentity)
}

extension ClusterFault: CustomStringConvertible {
    /// The text for the log.
    package var description: String {
        switch self.kind {
        case .olderTimeline(let found, let newest):
            "\(self.server): the server is on timeline \(found), but timeline \(newest) was used before"
        case .otherCluster: "\(self.server): the server belongs to another cluster than the one used before"
        }
    }

    /// The text for callers who are not signed in: it does not name the server.
    package var summary: String {
        switch self.kind {
        case .olderTimeline: "the database is older than the one used before"
        case .otherCluster: "the database is not the one used before"
        }
    }
}
