/// Why a server is not used though it takes writes: what was stored before may be missing there.
package struct ClusterFault: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// Its timeline, and the newest that was used.
        case olderTimeline(UInt32, newest: UInt32)
        /// It was made by another `initdb`.
        case otherCluster
    }

    /// The server's host and port.
    package let server: String
    package let kind: Kind
}

/// What a pool tells about the servers that it finds.
package enum ClusterEvent: Sendable, Hashable {
    /// The only server that takes writes is not used.
    case refused(ClusterFault)
    /// Another one is used again.
    case trusted
    /// A standby has become the primary. Without synchronous replication it may lack what the last one confirmed.
    case advanced(ClusterIdentity)
}

extension ClusterFault: CustomStringConvertible {
    /// For the log.
    package var description: String {
        switch self.kind {
        case .olderTimeline(let found, let newest):
            "\(self.server): the server is on timeline \(found), but timeline \(newest) was used before"
        case .otherCluster: "\(self.server): the server belongs to another cluster than was used before"
        }
    }

    /// For strangers, without the server's name.
    package var summary: String {
        switch self.kind {
        case .olderTimeline: "the database is older than the one that was used before"
        case .otherCluster: "the database is another one than was used before"
        }
    }
}
