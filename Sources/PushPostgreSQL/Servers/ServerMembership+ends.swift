internal import PostgreSQL
internal import PushStore
internal import Synchronization

/// Credentials that end at one server end at all servers before it answers.
///
/// The transaction that ends credentials raises a number, the epoch. Each server reads new ends
/// after each renewal of its lease, and whenever it gets a message. It evicts the ended
/// credentials from its cache, and confirms the number.
///
/// The server that has ended credentials waits until each of the others has confirmed, or until
/// that server's lease has expired by the database's clock. By its own clock, a server stops
/// trusting its cache a second earlier. It resumes only after it has read the new ends.
///
/// The read must begin after the renewal is stored. If one statement did both, its snapshot could
/// lack an end that was stored just before the renewal. The server that stored this end may have
/// found the lease expired, and then waits for no confirmation.
extension ServerMembership {
    /// The first pause between two checks whether all servers have confirmed; each pause is
    /// twice as long as the one before.
    private static let firstPause = Duration.milliseconds(5)
    private static let longestPause = Duration.milliseconds(100)
    /// A server that has not confirmed for this time, but renews its lease, is fenced.
    private static let longestSilence = Duration.milliseconds(leaseDuration + 1000)

    /// Evicts ended credentials, and confirms that. Calls `completion` on the loop, with `false`
    /// if the read failed.
    func catchUp(_ completion: @escaping @Sendable (_ isCurrent: Bool) -> Void) {
        guard self.options.mayExchange() else { return completion(false) }
        let mustStart = self.state.withLock { state in
            state.waiters.append(completion)
            defer { state.isReading = true }
            return !state.isReading
        }
        if mustStart { self.readEnds() }
    }

    /// Returns when no server trusts the credentials that ended with that number. Throws
    /// `StoreError.unknownOutcome` if it cannot verify that in time.
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
            // Fences before it checks the limit: if this caller was delayed, a server that does
            // not confirm must not keep renewing.
            if mayFence, waited > Self.longestSilence {
                // Fencing once is enough. If it fails, the limit ends the wait.
                mayFence = false
                if let rows = try? await self.database.query(Self.fenceUnconfirmed, epoch) { self.recordFencing(rows) }
            }
            guard waited < limit else {
                throw StoreError.unknownOutcome(reason: "the change is stored, but another server may not know it yet")
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    // MARK: - Private

    /// Whether all servers have learnt of the ends up to `epoch`; also `false` if the database
    /// does not answer.
    private func isKnownToAll(_ epoch: Int64) async -> Bool {
        guard let rows = try? await self.database.query(Self.unconfirmed, epoch) else { return false }
        return rows.count == 0
    }

    private func readEnds() {
        let (assigned, waiters) = self.state.withLock { state in
            defer { state.waiters = [] }
            return (state.assigned, state.waiters)
        }
        self.database.control(Self.endsSince, assigned.seen) { outcome in
            // Treats rows that cannot be decoded as a failed read.
            guard case .success(let rows) = outcome, let ends = try? EndsSince(assigned.seen, rows) else {
                return self.endReading(waiters, false)
            }
            guard ends.newest != assigned.seen else { return self.endReading(waiters, true) }
            self.lease.record(ends.ends)
            self.state.withLock { state in
                // If the server has joined under another number meanwhile, it has evicted its
                // whole cache anyway.
                if state.assigned.number == assigned.number { state.assigned.seen = ends.newest }
            }
            // If this fails, the servers that wait for the confirmation wait until this server's
            // lease expires, or until it confirms the next number.
            self.database.control(Self.confirmEnds, assigned.number, ends.newest) { _ in
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
