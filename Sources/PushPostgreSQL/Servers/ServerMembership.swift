internal import Foundation
internal import Glibc
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Reactor
internal import Synchronization

/// The lease of this server among those that share the database. The server leases pushes under
/// a number, and renews the lease of this number twice a second. If it does not renew for some
/// seconds, another server fences it: then any server may take over its pushes. A fenced server
/// joins again under another number.
///
/// With each renewal, the server learns which credentials have ended elsewhere
/// (`ServerMembership+ends.swift`). It may trust its cache for as long as it may send.
final class ServerMembership: Sendable {
    /// The interval of renewals and of checks for late servers: a fraction of the time that a
    /// takeover takes.
    static let renewalInterval = Duration.milliseconds(500)
    /// The length of the lease, by the database's clock, in milliseconds.
    static let leaseDuration: Int64 = 5000
    /// The time, counted from when the last renewal was sent, in which this server may start
    /// sending pushes. Shorter than the lease, so that a server that was paused and resumes has
    /// already stopped sending.
    static let localLeaseDuration = Duration.seconds(4)
    /// The time for which this server's renewals must have succeeded before it fences others.
    /// After a failover all servers seem late, and each renews within 2.5 s: pauses and attempts
    /// to connect take at most a second, plus `renewalInterval`. Less than `leaseDuration`, so
    /// that a server that has just started or resumed takes over as soon as another one.
    static let fencingDelay = Duration.seconds(4)
    /// The number of renewals between deletions of old rows of `account_end`.
    private static let trimInterval = 300

    struct State {
        var assigned: AssignedNumber
        /// The time since when all renewals have succeeded.
        var answeredSince: ContinuousClock.Instant?
        var renewals = 0
        var isEnded = false
        /// Whether a read of ended credentials is running.
        var isReading = false
        /// Callers that wait for the next read to start.
        var waiters: [@Sendable (_ isCurrent: Bool) -> Void] = []
    }

    let options: StoreOptions
    /// Called from any thread when this server may take over leases of others.
    private let onFreed: @Sendable () -> Void
    let database: ConnectionPool
    let announcements: Announcements
    let lease: CredentialLease
    let state: Mutex<State>
    private let schema: String
    private let keys: SharedKeys
    private let loop: EventLoop

    init(
        _ assigned: AssignedNumber,
        _ options: StoreOptions,
        schema: String,
        _ keys: SharedKeys,
        _ database: ConnectionPool,
        on loop: EventLoop,
        onFreed: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.onFreed = onFreed
        self.schema = schema
        self.keys = keys
        self.database = database
        self.loop = loop
        self.announcements = Announcements(database, on: loop)
        self.lease = CredentialLease(goodUntil: assigned.start + Self.localLeaseDuration)
        self.state = Mutex(State(assigned: assigned))
    }

    /// The server's number, which is never assigned again. Changes after the server was fenced.
    var number: Int64 { self.state.withLock { $0.assigned.number } }

    /// Whether this server may send the pushes that it leased under its number; `false` if it has
    /// not renewed its lease in time.
    var isAlive: Bool { self.lease.term != nil }

    /// The machine and the process, for operators.
    static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        // Without a host name, the process's id must do.
        guard gethostname(&name, name.count - 1) == 0 else { return "process \(getpid())" }
        return "\(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)) \(getpid())"
    }

    /// Renews the lease regularly, until `end`.
    func begin() {
        self.loop.execute { self.wait() }
    }

    /// Stops renewing the lease. The server's leases of pushes stay until other servers fence it.
    func abandon() {
        self.state.withLock { $0.isEnded = true }
        self.lease.end(isFinal: true)
    }

    /// Ends the lease, so that other servers may take over its pushes.
    func end() async {
        self.abandon()
        let statement = self.options.isListedAfterEnd ? Self.expireServer : Self.deleteServer
        // After a failure, other servers fence this server some seconds later.
        guard (try? await self.database.query(statement, self.number)) != nil else { return }
        guard self.options.isListedAfterEnd else { return }
        // The message does not go through `announcements`, which may send some milliseconds later,
        // after the connections are closed. If the message is lost, the other servers find the
        // leases at their next poll.
        let message = ServerMessage(sender: self.number).with(.freed)
        _ = try? await self.database.query(Announcements.notify, message.description)
    }

    /// Handles a message of another server, and returns it; `nil` if the text is not such a
    /// message.
    func receive(_ text: String) -> ServerMessage? {
        guard let message = ServerMessage(text), message.sender != self.number, self.options.mayExchange() else {
            return nil
        }
        if message.hasEnds { self.catchUp { _ in } }
        if message.hasFreed { self.onFreed() } else if message.hasWork { self.options.onWork() }
        return message
    }

    /// Announces new pushes to other servers, which may have to send them.
    func announce(workIn lanes: Set<String>) {
        let lanes = lanes.intersection(self.options.announcedLanes)
        if !lanes.isEmpty { self.announcements.add(.work(lanes), from: self.number) }
    }

    /// Announces to other servers that their event streams have events to repeat.
    func announceEvents() {
        self.announcements.add(.events, from: self.number)
    }

    /// Records that this server has fenced other servers, and announces that, so that each lane
    /// checks for work immediately.
    func recordFencing(_ rows: Rows) {
        guard rows.changed > 0 else { return }
        self.onFreed()
        self.announcements.add(.freed, from: self.number)
    }

    // MARK: - Private

    /// Must run on the loop.
    private func wait() {
        guard !self.state.withLock({ $0.isEnded }) else { return }
        // The loop keeps the timer until it has fired.
        LoopTimer(loop: self.loop) { self.renew() }.arm(at: .now + Self.renewalInterval)
    }

    private func renew() {
        let (number, isEnded) = self.state.withLock { ($0.assigned.number, $0.isEnded) }
        if isEnded { return }
        guard self.options.mayExchange() else { return self.wait() }
        let start = ContinuousClock.now
        self.database.control(Self.renewLease, number) { outcome in
            switch outcome {
            // Only a read that begins after the renewal counts: see `catchUp`.
            case .success(let rows) where rows.changed == 1: self.catchUp { self.recordRenewal(at: start, $0) }
            case .success: self.rejoin()
            case .failure: self.recordRenewal(at: start, false)
            }
        }
    }

    private func recordRenewal(at start: ContinuousClock.Instant, _ isCurrent: Bool) {
        // If this server was paused, perhaps together with the others, the time of successful
        // renewals counts from now on.
        let wasHeld = self.lease.term != nil
        let (number, mayFence, mayTrim) = self.state.withLock { state in
            guard isCurrent else {
                state.answeredSince = nil
                return (state.assigned.number, false, false)
            }
            let since = wasHeld ? state.answeredSince ?? start : start
            state.answeredSince = since
            state.renewals = (state.renewals + 1) % Self.trimInterval
            return (state.assigned.number, .now - since >= Self.fencingDelay, state.renewals == 0)
        }
        if isCurrent { self.lease.extend(until: start + Self.localLeaseDuration) }
        // After a failure a later renewal or another server trims.
        if mayTrim { self.database.control(Self.trimEnds) { _ in } }
        guard mayFence else { return self.wait() }
        self.database.control(Self.fenceLate, number) { outcome in
            // After a failure the next renewal fences again.
            if case .success(let rows) = outcome { self.recordFencing(rows) }
            self.wait()
        }
    }

    /// Joins under another number, after the server under its last number was fenced.
    private func rejoin() {
        // A renewal that was in flight when this server gave up its number finds no row.
        if self.state.withLock({ $0.isEnded }) { return }
        guard self.options.mayExchange() else { return self.wait() }
        // Abandons requests that were admitted under the old number.
        self.lease.end(isFinal: false)
        let start = ContinuousClock.now
        self.readKeys { agreement in
            // The next renewal retries, and checks again whether a missing key has been added.
            guard let agreement, let entry = self.keys.entry(agreement) else {
                return self.recordRenewal(at: start, false)
            }
            self.join(with: entry)
        }
    }

    private func join(with entry: SharedKeys.Entry) {
        let start = ContinuousClock.now
        self.database.control(
            Self.insertServerWithKeys,
            Self.name,
            self.options.release,
            self.schema,
            Int64(entry.sealing),
            entry.held,
            entry.checkValue
        ) { outcome in
            guard case .success(let rows) = outcome, let row = rows.first,
                let assigned = try? AssignedNumber(row, since: start)
            else { return self.recordRenewal(at: start, false) }
            // Only a read after joining counts: a server that changed its key before that has not
            // seen this server.
            self.readKeys { agreement in
                let mayStay = agreement.map { agreement in
                    self.keys.confirm(entry, as: assigned.number, agreement) {
                        self.state.withLock { $0.assigned = assigned }
                    }
                }
                guard mayStay == true else {
                    return self.database.control(Self.deleteServer, assigned.number) { _ in
                        self.recordRenewal(at: start, false)
                    }
                }
                self.lease.record([.everything])
                self.catchUp { self.recordRenewal(at: start, $0) }
            }
        }
    }

    private func readKeys(_ completion: @escaping @Sendable (KeyAgreement?) -> Void) {
        self.database.control(KeyAgreement.all) { outcome in
            // Treats rows that cannot be decoded as a failed read.
            guard case .success(let rows) = outcome else { return completion(nil) }
            completion(try? KeyAgreement(rows))
        }
    }
}

/// The number that a server was assigned when it joined, and how far it has read ended credentials
/// since.
struct AssignedNumber: Sendable {
    let number: Int64
    /// When the server asked to join, by its own clock.
    let start: ContinuousClock.Instant
    /// The number up to which the server has evicted ended credentials.
    var seen: Int64

    /// Decodes the row that `ServerMembership.insertServer` returns.
    init(_ row: Row, since start: ContinuousClock.Instant) throws(DatabaseError) {
        self.number = try row.integer(0)
        self.seen = try row.integer(1)
        self.start = start
    }
}
