/// A search that begins at one place of a list, and reads a limited number of entries. It must
/// read entry by entry, because the texts in the rows are encrypted, so the database has no index
/// over them.
struct ListScan<Entry: Sendable, Place: Sendable>: Sendable {
    /// The largest number of entries that one request reads.
    private let maximumSearched: Int
    /// The largest number of entries that one read returns. It is small, so that reads of other
    /// reports run in between.
    private let step: Int
    private let limit: Int
    /// Whether an entry matches the search.
    private let admits: @Sendable (Entry) -> Bool
    private let place: @Sendable (Entry) -> Place
    private let size: @Sendable (Entry) -> Int
    /// Whether the search ends before an entry.
    private let isEnd: @Sendable (Entry) -> Bool
    private(set) var found: [Entry] = []
    /// The number of entries that were read and compared so far.
    private(set) var searched = 0
    /// The place of the last entry that was read; at first, the place at which the search begins.
    private(set) var last: Place?
    /// Whether there are entries after `last`.
    private(set) var hasMore = true
    private var bytes = 0

    /// Searches for at most `limit` entries after `last`, and ends before the first entry for
    /// which `until` returns `true`. `size` returns the number of bytes of an entry, for lists
    /// whose entries may be long.
    init(
        after last: Place?,
        limit: Int,
        step: Int = ListScanLimits.step,
        maximumSearched: Int = ListScanLimits.maximumSearched,
        place: @escaping @Sendable (Entry) -> Place,
        size: @escaping @Sendable (Entry) -> Int = { _ in 0 },
        until isEnd: @escaping @Sendable (Entry) -> Bool = { _ in false },
        where admits: @escaping @Sendable (Entry) -> Bool
    ) {
        self.last = last
        self.limit = limit
        self.step = step
        self.maximumSearched = maximumSearched
        self.place = place
        self.size = size
        self.isEnd = isEnd
        self.admits = admits
    }

    /// Reads and searches until the search has found enough entries, or has compared enough.
    /// `read` returns the entries after a place, at most as many as its second argument says.
    mutating func run(_ read: (Place?, Int) async throws -> [Entry]) async throws {
        while let count = self.next { self.search(try await read(self.last, count)) }
    }

    /// How many entries after `last` must be read now; `nil` at the end of the search. The last
    /// entry of a read is not compared: it only shows that further entries exist.
    private var next: Int? {
        guard
            self.hasMore, self.found.count < self.limit, self.searched < self.maximumSearched,
            self.bytes < ListScanLimits.size
        else { return nil }
        return min(self.step, self.maximumSearched - self.searched) + 1
    }

    /// Compares the entries of one read. There are as many as `next` says, or fewer at the end of
    /// the list.
    private mutating func search(_ entries: [Entry]) {
        guard let next = self.next else { return }
        for (index, entry) in entries.prefix(next - 1).enumerated() {
            if self.isEnd(entry) {
                self.hasMore = false
                return
            }
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
    /// A request stops when it has read entries with this number of bytes. The limit is needed,
    /// because one audit entry about a batch names up to 500 notifications.
    static let size = 2 << 20
}
