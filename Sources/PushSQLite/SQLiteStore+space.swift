internal import PushStore
internal import SQLite
internal import Synchronization

extension SQLiteStore {
    /// The interval between two checks whether the file can be shortened.
    private static let checkInterval = Duration.seconds(10)
    /// The pause between two steps. Nine tenths of the time, the writer is free for clients.
    private static let stepDelay = Duration.milliseconds(20)

    /// At intervals, returns to the file system the space that cleanup has freed. Does so until
    /// the task is cancelled. All other background work runs on the writer's queue.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await self.giveSpaceBack(pause: Self.stepDelay)
            } catch {
                // A full disk, a full queue and a foreign lock are temporary. Any other failure
                // would happen again, so the checks end.
                guard error.isPassing else {
                    self.writer.events(.spaceNotGivenBack(reason: "\(error)"))
                    break
                }
            }
            // If the task is cancelled, this sleep ends early, and the loop's condition then ends
            // the loop.
            try? await Task.sleep(for: Self.checkInterval)
        }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    /// If much of the file is free, shortens it until only a reserve of free pages remains.
    /// Returns the number of bytes that the file system has got back.
    @discardableResult
    func giveSpaceBack(pause: Duration) async throws(StoreError) -> Int {
        do {
            guard let before = try await self.writer.fileSpace(), before.isWorthShrinking else { return 0 }
            var now = before
            repeat {
                now = try await self.writer.shrink()
                // If the task is cancelled, this sleep ends early, and the loop's condition then
                // ends the loop.
                try? await Task.sleep(for: pause)
            } while now.hasExcess && !Task.isCancelled
            let bytes = (before.pages - now.pages) * Writer.pageSize
            if bytes > 0 { self.writer.events(.spaceGivenBack(bytes: bytes)) }
            return max(0, bytes)
        } catch {
            throw StoreError(reading: error) ?? .failed(reason: "\(error)")
        }
    }
}

extension StoreError {
    fileprivate var isPassing: Bool {
        switch self {
        case .full, .busy, .unavailable: true
        default: false
        }
    }
}

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
            do {
                let row = try db.rows("pragma incremental_vacuum(\(sql: Self.shrinkPages))")
                while try row.step(), ContinuousClock.now < end {}
            }
            return try self.readSpace(db)
        }
    }

    private func readSpace(_ db: Database) throws -> FileSpace {
        let space = try FileSpace(db)
        self.state.withLock { $0.space = space }
        return space
    }
}
