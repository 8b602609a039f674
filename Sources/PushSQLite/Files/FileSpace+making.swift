internal import SQLite

extension FileSpace {
    /// The maximum size in bytes of an older database that is rewritten at the start, so that its
    /// file can become shorter. This takes about a second.
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
