internal import PushStore
internal import SQLite

/// Returns free space of the database's file to the file system;
/// `docs/decisions/sqlite-incremental-vacuum.md` has the reasons.
extension Writer {
    /// The largest number of pages that a step takes from the file's end; pages in use are moved
    /// for that.
    static let shrinkPages = 64
    /// The time after which a step takes no further page. In a long list of free pages, one page
    /// can take a millisecond.
    private static let shrinkTime = Duration.milliseconds(2)

    /// The counts of the file's pages; `nil` while the disk is full, since a step needs room in
    /// the log.
    func fileSpace() async throws -> FileSpace? {
        if self.condition.isFull { return nil }
        return try await self.write(.housekeeping) { [counts] db in
            let space = try FileSpace(db)
            counts.record(space)
            return space
        }
    }

    /// Takes some free pages from the file, which becomes shorter with the next checkpoint;
    /// returns the counts of the remaining pages.
    ///
    /// It is a transaction of its own, after the transactions that clients wait for.
    func shrink() async throws -> FileSpace {
        try await self.write(.housekeeping) { [self] db in
            // A moved page copies erased data that is not wiped yet.
            self.recordErasure()
            let end = ContinuousClock.now + Self.shrinkTime
            // SQLite takes one page for each row of this statement.
            try db.step(prepared: "pragma incremental_vacuum(\(Self.shrinkPages))") { ContinuousClock.now < end }
            let space = try FileSpace(db)
            self.counts.record(space)
            return space
        }
    }
}
