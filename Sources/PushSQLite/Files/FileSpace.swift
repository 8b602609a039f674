internal import GRDB

/// The pages of the database's file, and those of them that hold nothing.
struct FileSpace: Sendable, Equatable {
    /// Free pages that stay in any case: 4 MiB.
    private static let least = 1024

    let pages: Int
    let free: Int
    /// Whether the file can shrink in steps, which it can with `auto_vacuum`: SQLite knows then which page refers to a page.
    let canShrink: Bool

    init(pages: Int, free: Int, canShrink: Bool) {
        self.pages = pages
        self.free = free
        self.canShrink = canShrink
    }

    /// Reads it, as the connection sees it, the log included. Throws `DatabaseError`.
    init(_ db: Database) throws {
        self.init(
            pages: try Int.fetchOne(db, sql: "pragma page_count") ?? 0,
            free: try Int.fetchOne(db, sql: "pragma freelist_count") ?? 0,
            canShrink: try Int.fetchOne(db, sql: "pragma auto_vacuum") == Self.incremental
        )
    }

    /// The value of `pragma auto_vacuum` with which a file shrinks when asked to.
    static let incremental = 2

    /// What the next posts will use again: an eighth of the pages in use.
    private var reserve: Int { max(Self.least, (self.pages - self.free) / 8) }

    /// Whether a round of giving back begins. Twice the reserve, so that a file whose use goes up and down keeps its length.
    var isWorthShrinking: Bool { self.canShrink && self.free > 2 * self.reserve }

    /// Whether a round that has begun goes on.
    var hasExcess: Bool { self.canShrink && self.free > self.reserve }
}
