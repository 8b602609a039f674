internal import PostgreSQL
internal import PushStore
internal import Synchronization

/// What ends at one process ends at all before it is answered.
///
/// The transaction that ends something raises the epoch's number. Each process reads what is new after each renewal of its
/// lease, and whenever it is told to; forgets it; and confirms the number. The process that has ended something waits until
/// each of the others has confirmed, or its lease has run out by the database's clock: such a process has stopped, by its own
/// clock, to go by what it remembers a second before, and begins again only after it has read what is new.
///
/// It counts that the reading begins after the renewal is stored. If both were one statement, its snapshot could be older than
/// an end whose process has found the lease run out, and the renewal younger.
extension Node {
    /// The first pause before it is looked again whether all have confirmed; each is twice the last.
    private static let firstPause = Duration.milliseconds(5)
    private static let longestPause = Duration.milliseconds(100)
    /// A process that has not confirmed for so long, and goes on renewing its lease, is fenced.
    private static let longestSilence = Duration.milliseconds(duration + 1000)

    /// Forgets what has ended, and confirms it. `completion` is called on the loop; `false`: it could not be read.
    func catchUp(_ completion: @escaping @Sendable (_ isCurrent: Bool) -> Void) {
        guard self.options.mayExchange() else { return completion(false) }
        let mustStart = self.state.withLock { state in
            state.waiters.append(completion)
            defer { state.isReading = true }
            return !state.isReading
        }
        if mustStart { self.readEnds() }
    }

    /// Returns when no process goes any more by what ended with that number. Throws `StoreError.unknownOutcome` if that is not
    /// known in time.
    func awaitEnd(_ epoch: Int64, atMost limit: Duration) async throws {
        self.announcements.add(.ends, from: self.number)
        let _: Bool = await withCheckedContinuation { continuation in
            self.catchUp { continuation.resume(returning: $0) }
        }
        let start = ContinuousClock.now
        var pause = Self.firstPause
        var mayFence = true
        while true {
            if await self.isKnownToAll(epoch) { return }
            let waited = ContinuousClock.now - start
            // Before the limit is looked at: a caller that was held up must not leave such a process renewing.
            if mayFence, waited > Self.longestSilence {
                // Once is enough. If it fails, the limit ends the wait.
                mayFence = false
                if let rows = try? await self.database.query(Self.fencingUnaware, epoch) { self.noteFencing(rows) }
            }
            guard waited < limit else {
                throw StoreError.unknownOutcome(reason: "it is stored, but another server may not have heard of it")
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    // MARK: - Private

    /// `false` also if the database does not answer.
    private func isKnownToAll(_ epoch: Int64) async -> Bool {
        guard let rows = try? await self.database.query(Self.unaware, epoch) else { return false }
        return rows.count == 0
    }

    private func readEnds() {
        let (membership, waiters) = self.state.withLock { state in
            defer { state.waiters = [] }
            return (state.membership, state.waiters)
        }
        self.database.control(Self.endsSince, membership.seen) { outcome in
            // What cannot be read as what ended is treated as if it had failed.
            guard case .success(let rows) = outcome, let ends = try? EndsSince(membership.seen, rows) else {
                return self.endReading(waiters, false)
            }
            guard ends.newest != membership.seen else { return self.endReading(waiters, true) }
            self.lease.note(ends.ends)
            self.state.withLock { state in
                // Under another number everything was forgotten anyway.
                if state.membership.number == membership.number { state.membership.seen = ends.newest }
            }
            // If it fails, who waits for it waits until the lease has run out, or the next one is confirmed.
            self.database.control(Self.confirming, membership.number, ends.newest) { _ in
                self.endReading(waiters, true)
            }
        }
    }

    private func endReading(_ waiters: [@Sendable (Bool) -> Void], _ isCurrent: Bool) {
        for waiter in waiters { waiter(isCurrent) }
        let isOver = self.state.withLock { state in
            state.isReading = !state.waiters.isEmpty
            return !state.isReading
        }
        if !isOver { self.readEnds() }
    }
}
