/// The PostgreSQL database that a server has used: its cluster, and the newest timeline of the
/// cluster.
///
/// A database of an older timeline lacks data that was stored since.
package struct DatabaseMark: Sendable, Hashable {
    /// The cluster's number, which is assigned once, when the cluster is made.
    package let cluster: String
    package let timeline: UInt32

    package init(cluster: String, timeline: UInt32) {
        (self.cluster, self.timeline) = (cluster, timeline)
    }

    /// Reads the text of a mark; `nil` if it is something else.
    package init?(text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].isEmpty else { return nil }
        let words = parts[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, UInt64(words[0]) != nil, let timeline = UInt32(words[1]) else { return nil }
        self.init(cluster: String(words[0]), timeline: timeline)
    }

    /// The mark as one line of text.
    package var text: String { "\(self.cluster) \(self.timeline)\n" }
}

/// Keeps the mark of a server's database apart from the store, so that the server recognizes an
/// older database after its next start.
package protocol DatabaseMarkKeeper: Sendable {
    /// The place of the mark, as operators see it.
    var place: String { get }

    /// The mark; `nil` if there is none yet.
    func load() throws -> DatabaseMark?

    /// Stores a mark that is at least as new as the stored one; keeps a newer stored mark. Throws
    /// if the stored mark is another cluster's.
    func keep(_ mark: DatabaseMark) throws
}
