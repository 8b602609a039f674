internal import SQLite

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
