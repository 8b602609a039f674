internal import SQLite

/// The number of pages in the database's file, and the number of free pages.
struct FileSpace: Sendable, Equatable {
    /// The minimum number of free pages that stay in the file: 4 MiB.
    private static let least = 1024

    let pages: Int
    let free: Int
    /// Whether the file can be shortened step by step. This needs `auto_vacuum`: SQLite then knows
    /// for each page which other page refers to it.
    let canShrink: Bool

    /// The number of free pages that are kept for the next posts: an eighth of the pages in use,
    /// but at least `least`.
    private var reserve: Int { max(Self.least, (self.pages - self.free) / 8) }

    /// Whether it is worthwhile to begin shortening. The threshold is twice the reserve, so that
    /// the length of the file stays the same if its use varies.
    var isWorthShrinking: Bool { self.canShrink && self.free > 2 * self.reserve }

    /// Whether shortening, once it has begun, should continue.
    var hasExcess: Bool { self.canShrink && self.free > self.reserve }
}

extension FileSpace {
    /// Reads the numbers of pages as the connection sees them, including pages in the log. Throws
    /// `DatabaseError`.
    init(_ db: Database) throws {
        self.init(
            pages: try Self.value("page_count", db),
            free: try Self.value("freelist_count", db),
            canShrink: try Self.value("auto_vacuum", db) == Self.incremental
        )
    }

    /// The value of the pragma with this name.
    static func value(_ name: String, _ db: Database) throws -> Int {
        Int(try db.number("pragma \(sql: name)") ?? 0)
    }

    /// The value of `pragma auto_vacuum` for a file that is shortened on request.
    static let incremental = 2

    /// The maximum size in bytes of an older database that is rewritten at the start, so that its
    /// file can become shorter. The rewriting takes about a second.
    static let rewritten = 64 << 20

    /// Makes it possible to shorten the file later, if SQLite has not begun to write the file. An
    /// existing database stays as it is.
    static func choose(_ db: Database) throws {
        guard try Self.value("auto_vacuum", db) != Self.incremental else { return }
        try db.execute(sql: "pragma auto_vacuum = incremental")
    }

    /// Rewrites a database of an older version, if it has at most `limit` bytes. Returns whether
    /// the file can now be shortened.
    ///
    /// The caller must have called `choose` on this connection, and no transaction may be open. If
    /// the disk is full, the file stays as it is.
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
