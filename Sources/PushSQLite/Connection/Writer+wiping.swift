internal import CSQLite
internal import Dispatch
internal import SQLite
internal import Synchronization

/// Wipes erased data from the log and from the pages; `docs/decisions/sqlite-page-wiping.md`
/// has the reasons.
extension Writer {
    /// How long erased data may stay in the log, so that one wipe serves many erasures.
    private static let wipeAfter = Duration.milliseconds(500)
    /// The pause before a retry while a reader prevents the checkpoint.
    private static let wipeAgainAfter = Duration.milliseconds(100)
    /// The number of unknown pages that are wiped at the start, and in each later step. The last
    /// process may have left erased data in an unknown page. A step takes no longer than a commit
    /// or two.
    private static let (sweepAtStart, sweepPages) = (4096, 512)
    /// The pause between two such steps.
    private static let sweepAfter = Duration.milliseconds(50)

    /// Schedules wiping. Must be called in the transaction that erases.
    func recordErasure() {
        self.counts.erasures.wrappingAdd(1, ordering: .relaxed)
        let isFirst = self.state.withLock { state in
            if state.wipeDueAt != nil { return false }
            state.wipeDueAt = .now + Self.wipeAfter
            return true
        }
        if isFirst { self.wipeLater(Self.wipeAfter) }
    }

    /// Wipes all erased data; returns `false` if a reader prevents that, and the wipe happens
    /// later.
    func wipeNow() async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try self.wipe() }) }
        }
    }

    /// Wipes erased data that the last process may have left. If another process reads, that
    /// happens later.
    ///
    /// The log names its pages. The other pages are known to be wiped only if the last process
    /// closed the database and the file was not written since. Otherwise all pages are checked; in
    /// a large file, most of them after the start.
    func wipeAtStart() throws {
        if try !self.wipe() { self.recordErasure() }
        try self.sweep(atMost: Self.sweepAtStart)
    }

    /// Leaves a stamp in the lock file for the next start if the whole database is wiped.
    func leaveStamp() {
        if self.wiper.knowsAllPages, let stamp = self.wiper.stamp { self.lock.leave(stamp) }
    }

    private func wipeLater(_ delay: Duration) {
        // If the writer is released before, the call does nothing, and the next start wipes.
        let (seconds, attoseconds) = delay.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in self?.wipeIfDue() }
    }

    private func sweep(atMost pages: Int) throws {
        self.state.withLock { $0.sweepDueAt = nil }
        let isMore = try self.onConnection { db in
            // A reader prevents the checkpoint: try again later.
            guard try self.checkpoint(db) != nil else { return true }
            return try self.wiper.wipeUnknown(atMost: pages)
        }
        if isMore { self.sweepLater() }
    }

    /// Schedules the wiping of the next unknown pages, where the last process may have left erased
    /// data.
    func sweepLater() {
        let isFirst = self.state.withLock { state in
            defer { state.sweepDueAt = state.sweepDueAt ?? .now + Self.sweepAfter }
            return state.sweepDueAt == nil
        }
        if isFirst { self.wipeLater(Self.sweepAfter) }
    }

    private func sweepIfDue() {
        let isDue = self.state.withLock { $0.failure == nil && $0.sweepDueAt.map { $0 <= .now } ?? false }
        guard isDue else { return }
        do {
            try self.sweep(atMost: Self.sweepPages)
        } catch {
            self.stopIfBroken(error)
        }
    }

    /// Wipes if a wipe is due. This is also called between commits, since under load the queue has
    /// no time for the scheduled call.
    func wipeIfDue() {
        self.sweepIfDue()
        let isDue = self.state.withLock { state in
            guard state.failure == nil, let due = state.wipeDueAt, due <= .now else { return false }
            state.wipeDueAt = nil
            return true
        }
        guard isDue else { return }
        do {
            if try self.wipe() { return }
        } catch {
            self.stopIfBroken(error)
        }
        self.state.withLock { $0.wipeDueAt = $0.wipeDueAt ?? .now + Self.wipeAgainAfter }
        self.wipeLater(Self.wipeAgainAfter)
    }

    /// Checkpoints the log, wipes the pages, and truncates the log; `false` if a reader prevents
    /// it.
    func wipe() throws -> Bool {
        try self.onConnection { db in
            guard try self.checkpoint(db) != nil else { return false }
            try self.wiper.wipe()
            // SQLite would write erased data in its cached pages again with the next change of the
            // page.
            sqlite3_db_release_memory(db.handle)
            return try self.resetLog(.truncate, db)
        }
    }
}
