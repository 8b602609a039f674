/// A mark of the PostgreSQL database that a server has used: the database's cluster, and the
/// newest timeline of that cluster.
///
/// A database on an older timeline lacks data that was stored on the newest one.
package struct DatabaseMark: Sendable, Hashable {
    /// The number that `initdb` assigns to the cluster once, when it creates the cluster.
    package let cluster: String
    package let timeline: UInt32

    package init(cluster: String, timeline: UInt32) {
        (self.cluster, self.timeline) = (cluster, timeline)
    }
}

/// Stores the mark of a server's database (the cluster and its newest timeline), but not in this
/// database. So at its next start, the server notices if the database is on an older timeline.
package protocol DatabaseMarkKeeper: Sendable {
    /// The place where the mark is stored, in the form for operators.
    var place: String { get }

    /// The stored mark; `nil` if no mark is stored yet.
    func load() throws -> DatabaseMark?

    /// Stores a mark, unless the stored mark is newer. Throws if the stored mark belongs to
    /// another cluster.
    func keep(_ mark: DatabaseMark) throws
}
