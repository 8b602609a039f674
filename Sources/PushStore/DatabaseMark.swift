/// Which database a process has used: the cluster, and the newest timeline of it.
///
/// A database of an older timeline lacks what was stored since.
package struct DatabaseMark: Sendable, Hashable {
    /// A number that is given out once, when a cluster is made.
    package let cluster: String
    package let timeline: UInt32

    package init(cluster: String, timeline: UInt32) {
        (self.cluster, self.timeline) = (cluster, timeline)
    }

    /// Reads what `text` has written; `nil` if it is something else.
    package init?(text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].isEmpty else { return nil }
        let words = parts[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, UInt64(words[0]) != nil, let timeline = UInt32(words[1]) else { return nil }
        self.init(cluster: String(words[0]), timeline: timeline)
    }

    /// One line.
    package var text: String { "\(self.cluster) \(self.timeline)\n" }
}

/// Where a process keeps the mark of its database, apart from the store, so that it knows an older one after its next start.
package protocol DatabaseMarkKeeper: Sendable {
    /// The place for operators.
    var place: String { get }

    /// The mark; `nil` if there is none yet.
    func load() throws -> DatabaseMark?

    /// Stores a mark that is not older than the one that is there; leaves one that is newer. Throws if that one is another
    /// cluster's.
    func keep(_ mark: DatabaseMark) throws
}
