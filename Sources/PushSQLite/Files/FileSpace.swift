internal import SQLite

/// The pages of the database's file, and the free ones among them.
struct FileSpace: Sendable, Equatable {
    /// The number of free pages that always stay: 4 MiB.
    private static let least = 1024

    let pages: Int
    let free: Int
    /// Whether the file can shrink in steps. With `auto_vacuum` it can, since SQLite then knows
    /// which page refers to each page.
    let canShrink: Bool

    init(pages: Int, free: Int, canShrink: Bool) {
        (self.pages, self.free, self.canShrink) = (pages, free, canShrink)
    }

    /// Reads the counts, as the connection sees them, the log included. Throws `DatabaseError`.
    init(_ db: Database) throws {
        self.init(
            pages: try Self.value("page_count", db),
            free: try Self.value("freelist_count", db),
            canShrink: try Self.value("auto_vacuum", db) == Self.incremental
        )
    }

    /// The value of a pragma.
    static func value(_ name: String, _ db: Database) throws -> Int {
        try db.first("pragma \(sql: name)") { Int($0.integer(0)) } ?? 0
    }

    /// The value of `pragma auto_vacuum` with which a file shrinks on request.
    static let incremental = 2

    /// The pages that the next posts will use again: an eighth of the pages in use.
    private var reserve: Int { max(Self.least, (self.pages - self.free) / 8) }

    /// Whether shrinking begins. The threshold is twice the reserve, so that a file whose use
    /// varies keeps its length.
    var isWorthShrinking: Bool { self.canShrink && self.free > 2 * self.reserve }

    /// Whether shrinking that has begun continues.
    var hasExcess: Bool { self.canShrink && self.free > self.reserve }
}

extension FileSpace {
    /// The size in bytes up to which an older database is rewritten at the start, so that its file
    /// can shrink. That takes about a second.
    static let rewritten = 64 << 20

    /// Makes the file able to shrink on request, if SQLite has not begun to write it; an existing
    /// database stays as it is.
    static func choose(_ db: Database) throws {
        guard try Self.value("auto_vacuum", db) != Self.incremental else { return }
        try db.execute(sql: "pragma auto_vacuum = incremental")
    }

    /// Rewrites a database of an older version if it has at most `limit` bytes; returns whether
    /// the file can shrink now.
    ///
    /// Needs a connection on which `choose` was called, and no transaction. On a full disk the
    /// file stays as it is.
    static func rewrite(_ db: Database, atMost limit: Int) throws -> Bool {
        let space = try FileSpace(db)
        guard !space.canShrink, space.pages * Writer.pageSize <= limit else { return space.canShrink }
        do {
            try db.execute(sql: "vacuum")
        } catch let error as DatabaseError where error.isFull {
            return false
        }
        return try FileSpace(db).canShrink
    }
}
