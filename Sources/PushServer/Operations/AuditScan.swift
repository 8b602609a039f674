internal import PushStore

/// A search of the audit from one entry backwards, over a limited number of entries: their text is
/// encrypted, so that no index can help.
struct AuditScan: Sendable {
    /// The largest number of entries that one request reads, and that one read has: other reports
    /// come in between.
    static let maximumSearched = 5000
    static let step = 500
    /// The number of bytes of subjects after which a request stops: an entry about a batch names
    /// 500 notifications.
    static let size = 2 << 20

    private let filter: AuditFilter
    private let limit: Int
    private(set) var found: [AuditEntry] = []
    /// The number of entries that were searched.
    private(set) var searched = 0
    /// The number of the last entry that was searched; at first, of the entry before which the
    /// search begins.
    private(set) var last: Int64?
    /// Whether there are entries before the last one.
    private(set) var hasMore = true
    private var bytes = 0

    init(_ filter: AuditFilter, before number: Int64?, limit: Int) {
        self.filter = filter
        self.limit = limit
        self.last = number
    }

    /// How many entries before `last` to read now; `nil` at the end of the search. The last of
    /// them only shows that there are more.
    var next: Int? {
        guard self.hasMore, self.found.count < self.limit, self.searched < Self.maximumSearched, self.bytes < Self.size
        else {
            return nil
        }
        return min(Self.step, Self.maximumSearched - self.searched) + 1
    }

    /// Searches entries: as many as `next`, or fewer if there are no more.
    mutating func search(_ entries: [AuditEntry]) {
        guard let next = self.next else { return }
        for (index, entry) in entries.prefix(next - 1).enumerated() {
            self.searched += 1
            self.last = entry.number
            self.bytes += entry.subject.utf8.count
            if self.filter.admits(entry) { self.found.append(entry) }
            self.hasMore = index + 1 < entries.count
            if self.found.count == self.limit { return }
        }
        self.hasMore = entries.count == next
    }
}
