internal import Dispatch
internal import GRDB
internal import Synchronization

/// Wiping: what was erased must not be found in the log or in the pages.
extension Writer {
    /// How long what was erased may stay in the log: one wiping then serves many.
    private static let wipeAfter = Duration.milliseconds(500)
    /// When to try again while a reader is in the way.
    private static let wipeAgainAfter = Duration.milliseconds(100)

    /// Has what was erased in this transaction wiped soon. To be called in it.
    func noteErasure() {
        let isFirst = self.state.withLock { state in
            if state.wipeDueAt != nil { return false }
            state.wipeDueAt = .now + Self.wipeAfter
            return true
        }
        if isFirst { self.wipeLater(Self.wipeAfter) }
    }

    /// Wipes what was erased before, at once, or later if a reader is in the way; returns whether it is done.
    func wipeNow() async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try self.wipe() }) }
        }
    }

    /// Wipes what the last process may have left; later, if another process reads.
    func wipeAtStart() throws {
        if try !self.wipe() { self.noteErasure() }
    }

    private func wipeLater(_ delay: Duration) {
        // Dropped with the writer; the next start does it then.
        let (seconds, attoseconds) = delay.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in self?.wipeIfDue() }
    }

    /// Also called between commits, for under load the queue has no time for what was put behind them.
    func wipeIfDue() {
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

    /// Moves the log into the database, wipes the pages, and cuts the log off; `false` if a reader is in the way.
    func wipe() throws -> Bool {
        try self.connection.writeWithoutTransaction { db in
            guard try self.moveLog(db) != nil else { return false }
            return try self.empty(.truncate, db)
        }
    }
}
