internal import PushStore
internal import SQLite
internal import Synchronization

/// Returns free space of the database's file to the file system;
/// `docs/decisions/sqlite-incremental-vacuum.md` has the reasons.
extension Writer {
    /// The maximum number of pages that one step removes from the end of the file. Pages in use
    /// are first moved elsewhere.
    static let shrinkPages = 64
    /// The time after which a step removes no further page. If the list of free pages is long, one
    /// page can take a millisecond.
    private static let shrinkTime = Duration.milliseconds(2)

    /// The number of pages and of free pages in the file; `nil` while the disk is full: the caller
    /// then does not shorten the file, because that needs room in the log.
    func fileSpace() async throws -> FileSpace? {
        if self.condition.isFull { return nil }
        return try await self.write(.housekeeping) { [self] in try self.readSpace($0) }
    }

    /// Removes some free pages from the file; the next checkpoint then shortens the file. Returns
    /// how many pages and free pages remain.
    ///
    /// This is a transaction of its own, which runs after the transactions that clients wait for.
    func shrink() async throws -> FileSpace {
        try await self.write(.housekeeping) { [self] db in
            // When SQLite moves a page, it also copies erased data in the page that is not wiped
            // yet.
            self.recordErasure()
            let end = ContinuousClock.now + Self.shrinkTime
            // SQLite removes one page for each row that this statement returns.
            try db.step(prepared: "pragma incremental_vacuum(\(Self.shrinkPages))") { ContinuousClock.now < end }
            return try self.readSpace(db)
        }
    }

    private func readSpace(_ db: Database) throws -> FileSpace {
        let space = try FileSpace(db)
        self.state.withLock { $0.space = space }
        return space
    }
}
