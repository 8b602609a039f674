/// A search of a list from one place on, over a limited number of entries: the texts in their rows
/// are encrypted, so that no index can help.
struct ListScan<Entry: Sendable, Place: Sendable>: Sendable {
    /// The largest number of entries that one request reads.
    private let maximumSearched: Int
    /// The number of entries that one read has, so that other reports come in between.
    private let step: Int
    private let limit: Int
    /// Whether an entry matches the search.
    private let admits: @Sendable (Entry) -> Bool
    private let place: @Sendable (Entry) -> Place
    private let size: @Sendable (Entry) -> Int
    private(set) var found: [Entry] = []
    /// The number of entries that were searched.
    private(set) var searched = 0
    /// The place of the last entry that was searched; at first, the one from which the search
    /// begins.
    private(set) var last: Place?
    /// Whether there are entries after the last one.
    private(set) var hasMore = true
    private var bytes = 0

    /// Searches for at most `limit` entries after `last`. `size` is the number of bytes of an
    /// entry that may be long.
    init(
        after last: Place?,
        limit: Int,
        step: Int = ListScanLimits.step,
        maximumSearched: Int = ListScanLimits.maximumSearched,
        place: @escaping @Sendable (Entry) -> Place,
        size: @escaping @Sendable (Entry) -> Int = { _ in 0 },
        where admits: @escaping @Sendable (Entry) -> Bool
    ) {
        self.last = last
        self.limit = limit
        self.step = step
        self.maximumSearched = maximumSearched
        self.place = place
        self.size = size
        self.admits = admits
    }

    /// Reads and searches until enough is found, or enough is searched. `read` returns at most as
    /// many entries after a place as the number says.
    mutating func run(_ read: (Place?, Int) async throws -> [Entry]) async throws {
        while let count = self.next { self.search(try await read(self.last, count)) }
    }

    /// How many entries after `last` to read now; `nil` at the end of the search. The last of them
    /// only shows that there are more.
    private var next: Int? {
        guard
            self.hasMore, self.found.count < self.limit, self.searched < self.maximumSearched,
            self.bytes < ListScanLimits.size
        else { return nil }
        return min(self.step, self.maximumSearched - self.searched) + 1
    }

    /// Searches entries: as many as `next`, or fewer if there are no more.
    private mutating func search(_ entries: [Entry]) {
        guard let next = self.next else { return }
        for (index, entry) in entries.prefix(next - 1).enumerated() {
            self.searched += 1
            self.last = self.place(entry)
            self.bytes += self.size(entry)
            if self.admits(entry) { self.found.append(entry) }
            self.hasMore = index + 1 < entries.count
            if self.found.count == self.limit { return }
        }
        self.hasMore = entries.count == next
    }
}

/// The usual limits of a search.
enum ListScanLimits {
    static let maximumSearched = 5000
    static let step = 500
    /// The number of bytes after which a request stops: an audit entry about a batch names 500
    /// notifications.
    static let size = 2 << 20
}
