internal import CSQLite
internal import PushCore
internal import SQLite
internal import Synchronization

/// Wipes erased data: overwrites its remains in the log and in the pages.
/// `docs/decisions/sqlite-page-wiping.md` gives the reasons.
extension Writer {
    /// How long erased data may stay in the log. In this time, several erasures can be collected
    /// for one wipe.
    private static let wipeAfter = Duration.milliseconds(500)
    /// The pause before the next attempt if a reader has prevented the checkpoint.
    private static let wipeAgainAfter = Duration.milliseconds(100)
    /// The number of unknown pages that are wiped at the start, and in each later step. A page is
    /// unknown if the last process may have left erased data in it. A step takes no longer than
    /// one or two commits.
    private static let (sweepAtStart, sweepPages) = (4096, 512)
    /// The pause between two steps that wipe unknown pages.
    private static let sweepAfter = Duration.milliseconds(50)

    /// Schedules a wipe. Call it in the transaction that erases data.
    func recordErasure() {
        self.state.withLock { $0.erasures += 1 }
        self.schedule(\.wipeDueAt, after: Self.wipeAfter)
    }

    /// Wipes erased data that the last process may have left. If another process is reading, the
    /// wipe happens later.
    ///
    /// The log says which pages the last process wrote recently. The other pages certainly contain
    /// no erased data if the last process has closed the database, and nobody has written to the
    /// file since. Otherwise all pages are checked; if the file is large, most of them after the
    /// start.
    func wipeAtStart() throws {
        if try !self.wipe() { self.recordErasure() }
        try self.sweep(atMost: Self.sweepAtStart)
    }

    /// If all pages are wiped, leaves a stamp of the file's state in the lock file, for the next
    /// start.
    func leaveStamp() {
        if self.wiper.knowsAllPages, let stamp = self.wiper.stamp { self.lock.leave(stamp) }
    }

    /// Schedules a wipe of one kind, unless a wipe of this kind is scheduled already.
    private func schedule(
        _ dueAt: any WritableKeyPath<State, ContinuousClock.Instant?> & Sendable,
        after delay: Duration
    ) {
        let isFirst = self.state.withLock { state in
            defer { state[keyPath: dueAt] = state[keyPath: dueAt] ?? .now + delay }
            return state[keyPath: dueAt] == nil
        }
        guard isFirst else { return }
        // If the writer is released meanwhile, the next start wipes the data.
        self.run(after: delay) { $0.wipeIfDue() }
    }

    private func sweep(atMost pages: Int) throws {
        self.state.withLock { $0.sweepDueAt = nil }
        let isMore = try self.onConnection { db in
            // A reader prevents the checkpoint, so the step is tried again later.
            guard try self.checkpoint(db) != nil else { return true }
            return try self.wiper.wipeUnknown(atMost: pages)
        }
        if isMore { self.sweepLater() }
    }

    /// Schedules the wiping of the next unknown pages: those where the last process may have left
    /// erased data.
    func sweepLater() { self.schedule(\.sweepDueAt, after: Self.sweepAfter) }

    private func sweepIfDue() {
        let isDue = self.state.withLock { $0.failure == nil && $0.sweepDueAt.map { $0 <= .now } ?? false }
        guard isDue else { return }
        do {
            try self.sweep(atMost: Self.sweepPages)
        } catch {
            self.stopIfBroken(error)
        }
    }

    /// Wipes erased data if a wipe is due. The writer also calls this between commits: under load,
    /// its queue has no time for the scheduled call.
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
        self.schedule(\.wipeDueAt, after: Self.wipeAgainAfter)
    }

    /// Checkpoints the log, wipes the pages, and truncates the log. Returns `false` if a reader
    /// prevents one of these steps.
    func wipe() throws -> Bool {
        try self.onConnection { db in
            guard try self.checkpoint(db) != nil else { return false }
            try self.wiper.wipe()
            // The connection's cached pages may contain erased data. SQLite would write that data
            // again when such a page changes.
            sqlite3_db_release_memory(db.handle)
            return try self.resetLog(.truncate, db)
        }
    }
}
