internal import PushStore

/// A search in the audit from one entry back, which looks at a bounded number of entries: the text of all is sealed, so that no
/// index can help.
struct AuditScan: Sendable {
    /// The most entries that one request looks at, and one read: other reports come in between.
    static let bound = 5000
    static let step = 500
    /// The bytes of subjects after which a request looks no further: an entry about a batch names 500 notifications.
    static let size = 2 << 20

    private let filter: AuditFilter
    private let limit: Int
    private(set) var found: [AuditEntry] = []
    /// How many entries were looked at.
    private(set) var searched = 0
    /// The number of the last entry that was looked at; before the first one, that of the entry to begin behind.
    private(set) var last: Int64?
    /// Whether there are entries behind the last one.
    private(set) var hasMore = true
    private var bytes = 0

    init(_ filter: AuditFilter, before number: Int64?, limit: Int) {
        self.filter = filter
        self.limit = limit
        self.last = number
    }

    /// How many entries before `last` to read now, of which the last one only shows that there are more; `nil` if it is over.
    var next: Int? {
        guard self.hasMore, self.found.count < self.limit, self.searched < Self.bound, self.bytes < Self.size else {
            return nil
        }
        return min(Self.step, Self.bound - self.searched) + 1
    }

    /// Looks at entries, as many as `next` if there are so many.
    mutating func look(at entries: [AuditEntry]) {
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
