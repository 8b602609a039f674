internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// Credentials that end at one server must end at all servers before that server answers.
///
/// The transaction that ends credentials raises a number, the epoch. Each server reads the new
/// ends after each renewal of its lease, and after each message about them. It evicts the ended
/// credentials from its cache, and confirms the number.
///
/// The server that has ended credentials then waits. Each other server must confirm, or its lease
/// must expire by the database's clock. By its own clock, a server stops trusting its cache a
/// second before its lease expires. It trusts the cache again only after it has read the new ends.
///
/// A server must begin this read after its renewal is stored. If one statement did both, its
/// snapshot could lack an end that was stored just before the renewal. The server that stored this
/// end might have found the lease expired, and then does not wait for a confirmation.
extension ServerMembership {
    /// The first pause between two checks whether all servers have confirmed. Each further pause
    /// is twice as long as the previous one.
    private static let firstPause = Duration.milliseconds(5)
    private static let longestPause = Duration.milliseconds(100)
    /// If a server has not confirmed for this time, but still renews its lease, it is fenced.
    private static let longestSilence = Duration.milliseconds(leaseDuration + 1000)

    /// Reads which credentials have ended since the last read, evicts them from the cache, and
    /// confirms the number of the last one. Calls `completion` on the event loop, with `false` if
    /// the read failed.
    func catchUp(_ completion: @escaping @Sendable (_ isCurrent: Bool) -> Void) {
        guard self.options.mayExchange() else { return completion(false) }
        let mustStart = self.state.withLock { state in
            state.waiters.append(completion)
            defer { state.isReading = true }
            return !state.isReading
        }
        if mustStart { self.readEnds() }
    }

    /// Waits until no server trusts the credentials that ended under the number `epoch`. Throws
    /// `StoreError.unknownOutcome` if it cannot verify this within `limit`.
    func awaitEnd(_ epoch: Int64, atMost limit: Duration) async throws {
        self.announcements.add(ServerMessage(sender: self.number, [.ends]))
        let _: Bool = await withCheckedContinuation { continuation in
            self.catchUp { continuation.resume(returning: $0) }
        }
        let start = ContinuousClock.now
        var pause = Self.firstPause
        var mayFence = self.options.fencesServers
        while true {
            // If the database does not answer, the next round asks again.
            if let rows = try? await self.database.query(Self.unconfirmed, epoch), rows.isEmpty { return }
            let waited = ContinuousClock.now - start
            // Servers are fenced before the limit is checked. Otherwise, if this caller was
            // delayed, a server that does not confirm could keep renewing its lease.
            if mayFence, waited > Self.longestSilence {
                // Fencing once is enough. If the fencing fails, the wait ends at the limit.
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

    private func readEnds() {
        let (assigned, waiters) = self.state.withLock { state in
            defer { state.waiters = [] }
            return (state.assigned, state.waiters)
        }
        self.database.control(Self.endsSince, assigned.seen) { outcome in
            if case .failure(let error) = outcome { self.condition.record(StoreError(error)) }
            // If the rows cannot be decoded, the read counts as failed.
            guard case .success(let rows) = outcome, let ends = try? EndsSince(assigned.seen, rows) else {
                return self.endReading(waiters, false)
            }
            guard ends.newest != assigned.seen else { return self.endReading(waiters, true) }
            self.lease.record(ends.ends)
            self.state.withLock { state in
                // If the server has joined under another number meanwhile, it has already evicted
                // its whole cache.
                if state.assigned.number == assigned.number { state.assigned.seen = ends.newest }
            }
            // If the confirmation fails, the servers that wait for it wait longer: until this
            // server's lease expires, or until it confirms a later number.
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

/// The credentials that have ended since a server last read them.
struct EndsSince: Sendable {
    let newest: Int64
    let ends: [CredentialLease.End]

    /// Decodes the rows that the statement `ServerMembership.endsSince` returns.
    init(_ seen: Int64, _ rows: Rows) throws {
        guard let first = rows.first else { throw StoreError.undecodable }
        self.newest = try first.integer("newest")
        let trimmed = try first.integer("trimmed")
        // After a database was restored from a backup, the newest number is lower than before.
        guard self.newest >= seen, trimmed <= seen, rows.count <= ServerMembership.maximumEnds else {
            self.ends = [.everything]
            return
        }
        self.ends = self.newest == seen ? [] : try rows.map { try CredentialLease.End($0) }
    }
}

extension CredentialLease.End {
    fileprivate init(_ row: Row) throws {
        let user = try row.integer("user_id")
        guard let token = try row.optionalData("token") else {
            self = .user(user)
            return
        }
        guard let fingerprint = Fingerprint(bytes: token) else { throw StoreError.undecodable }
        self = .token(fingerprint, user: user)
    }

    fileprivate var row: (user: Int64, token: Data?)? {
        switch self {
        case .everything: nil
        case .user(let user): (user, nil)
        case .token(let token, let user): (user, token.bytes)
        }
    }
}

extension WriteTransaction {
    /// Stores credentials that end in this transaction; returns the number of the last one.
    ///
    /// Locks `epoch` until the commit, so that these numbers become visible in ascending order.
    func write(_ ends: [CredentialLease.End]) async throws -> Int64? {
        let rows = ends.compactMap(\.row)
        guard !rows.isEmpty else { return nil }
        return try await self.query(Self.newEnds, rows.count, rows.map(\.user), rows.map(\.token)).first?.integer()
    }

    static let newEnds = """
        with e as (update epoch set newest = newest + $1 where id = 1 returning newest),
        added as (
            insert into account_end (epoch, at, user_id, token)
            select e.newest - $1 + x.place, \(DatabaseClock.now), x.user_id, x.token
            from e cross join unnest($2::int8[], $3::bytea[]) with ordinality as x (user_id, token, place))
        select newest from e
        """
}
