internal import Glibc
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Reactor
internal import Synchronization

/// The lease of this server in the database that several servers share. The server leases pushes
/// under its number, and renews the lease of this number twice a second. If it does not renew for
/// some seconds, another server fences it, and any server may then take over its pushes. A fenced
/// server joins again under another number.
///
/// At each renewal, the server reads which credentials have ended at other servers
/// (`ServerMembership+ends.swift`). It may trust its cache of credentials as long as it may send
/// pushes.
final class ServerMembership: Sendable {
    /// The interval between renewals, and between checks for expired leases of other servers. It
    /// is short compared with the time after which a dead server's pushes are taken over.
    static let renewalInterval = Duration.milliseconds(500)
    /// The duration of the lease in milliseconds, by the database's clock.
    static let leaseDuration: Int64 = 5000
    /// How long this server may begin to send pushes, counted from the moment at which it sent its
    /// last renewal. This is shorter than the lease. So a server that was paused has already
    /// stopped sending when its lease expires.
    static let localLeaseDuration = Duration.seconds(4)
    /// How long this server's own renewals must have succeeded before it fences others. After a
    /// failover, all servers' leases seem expired. Each server then renews within 2.5 s: pauses
    /// and attempts to connect take at most a second each, plus `renewalInterval`. The delay is
    /// shorter than `leaseDuration`, so that even a server that has just started takes over in
    /// time.
    static let fencingDelay = Duration.seconds(4)
    /// The number of renewals between two deletions of old rows of `account_end`.
    private static let trimInterval = 300

    struct State {
        var assigned: AssignedNumber
        /// The time since which all renewals have succeeded; `nil` after a failure.
        var answeredSince: ContinuousClock.Instant?
        var renewals = 0
        var isEnded = false
        /// Whether this server is reading ended credentials.
        var isReading = false
        /// The callers that wait until the next read of ended credentials is done.
        var waiters: [@Sendable (_ isCurrent: Bool) -> Void] = []
    }

    let options: ClusterOptions
    /// Called on any thread when this server may take over the pushes of other servers.
    private let onFreed: @Sendable () -> Void
    let database: ConnectionPool
    let announcements: Announcements
    let lease: CredentialLease
    let state: Mutex<State>
    let condition: StoreCondition
    private let schema: String
    private let keys: SharedKeys
    private let loop: EventLoop

    init(
        _ assigned: AssignedNumber,
        _ options: ClusterOptions,
        schema: String,
        _ keys: SharedKeys,
        _ database: ConnectionPool,
        _ condition: StoreCondition,
        on loop: EventLoop,
        onFreed: @escaping @Sendable () -> Void
    ) {
        (self.options, self.onFreed, self.schema, self.keys) = (options, onFreed, schema, keys)
        (self.database, self.condition, self.loop) = (database, condition, loop)
        self.announcements = Announcements(database, on: loop)
        self.lease = CredentialLease(goodUntil: assigned.start + Self.localLeaseDuration)
        self.state = Mutex(State(assigned: assigned))
    }

    /// The server's number. It is never assigned to another server, and changes when the server
    /// joins again after it was fenced.
    var number: Int64 { self.state.withLock { $0.assigned.number } }

    /// The machine's name and the process's id, for operators.
    static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        // If the machine has no name, the process's id must suffice.
        guard gethostname(&name, name.count - 1) == 0 else { return "process \(getpid())" }
        return "\(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)) \(getpid())"
    }

    /// Renews the lease at intervals, until `end` is called.
    func begin() { self.loop.execute { self.wait() } }

    /// Stops renewing the lease. Until other servers fence this server, its pushes stay leased.
    func abandon() {
        self.state.withLock { $0.isEnded = true }
        self.lease.end(isFinal: true)
    }

    /// Ends the lease at once, so that other servers may take over this server's pushes.
    func end() async {
        self.abandon()
        let statement = self.options.isListedAfterEnd ? Self.expireServer : Self.deleteServer
        // If the statement fails, other servers fence this server some seconds later.
        guard (try? await self.database.query(statement, self.number)) != nil else { return }
        guard self.options.isListedAfterEnd else { return }
        // The message does not go through `announcements`, which may send it some milliseconds
        // later, after the connections are closed. If the message is lost, the other servers find
        // this server's leases when they next poll the database.
        let message = ServerMessage(sender: self.number, [.freed])
        _ = try? await self.database.query(Announcements.notify, message.description)
    }

    /// Handles a message of another server, and returns it. `nil` if the text is no such message.
    func receive(_ text: String) -> ServerMessage? {
        guard let message = ServerMessage(text), message.sender != self.number, self.options.mayExchange() else {
            return nil
        }
        if message.news.contains(.ends) { self.catchUp { _ in } }
        if message.news.contains(.freed) { self.onFreed() } else if !message.lanes.isEmpty { self.options.onWork() }
        return message
    }

    /// Announces new pushes in these lanes (providers' queues) to the other servers, since one of
    /// them may have to send these pushes.
    func announce(workIn lanes: Set<String>) {
        let lanes = lanes.intersection(self.options.announcedLanes)
        if !lanes.isEmpty { self.announcements.add(ServerMessage(sender: self.number, workIn: lanes)) }
    }

    /// Announces that the other servers have to repeat events at their event streams.
    func announceEvents() { self.announcements.add(ServerMessage(sender: self.number, [.events])) }

    /// Records that this server has fenced other servers, and announces this. So each lane (a
    /// provider's queue) checks at once for pushes to take over.
    func recordFencing(_ rows: Rows) {
        guard rows.changed > 0 else { return }
        self.onFreed()
        self.announcements.add(ServerMessage(sender: self.number, [.freed]))
    }

    // MARK: - Private

    /// Sets a timer for the next renewal. Call it on the event loop only.
    private func wait() {
        guard !self.state.withLock({ $0.isEnded }) else { return }
        // The event loop keeps the timer in memory until it fires.
        LoopTimer(loop: self.loop) { self.renew() }.arm(at: .now + Self.renewalInterval)
    }

    private func renew() {
        let (number, isEnded) = self.state.withLock { ($0.assigned.number, $0.isEnded) }
        if isEnded { return }
        guard self.options.mayExchange() else { return self.wait() }
        let start = ContinuousClock.now
        self.database.control(Self.renewLease, number) { outcome in
            switch outcome {
            // A renewal counts only when the server has read the ended credentials. This read must
            // begin after the renewal: see `catchUp`.
            case .success(let rows) where rows.changed == 1: self.catchUp { self.recordRenewal(at: start, $0) }
            case .success: self.rejoin()
            case .failure(let error):
                self.condition.record(StoreError(error))
                self.recordRenewal(at: start, false)
            }
        }
    }

    private func recordRenewal(at start: ContinuousClock.Instant, _ isCurrent: Bool) {
        // If this server was paused, its renewals count as successful only from now on. So it does
        // not immediately fence the other servers, which may have been paused, too.
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
        // If this deletion fails, a later renewal, or another server, deletes the old rows.
        if mayTrim { self.database.control(Self.trimEnds) { _ in } }
        guard mayFence, self.options.fencesServers else { return self.wait() }
        self.database.control(Self.fenceLate, number) { outcome in
            // If the fencing fails, the next renewal fences the servers.
            if case .success(let rows) = outcome { self.recordFencing(rows) }
            self.wait()
        }
    }

    /// Joins under another number, after the server was fenced under its last number.
    private func rejoin() {
        // If this server gave up its number while the renewal was in flight, the renewal found no
        // row, either. The server then does not join again.
        if self.state.withLock({ $0.isEnded }) { return }
        guard self.options.mayExchange() else { return self.wait() }
        // Requests that were admitted under the old number must not continue.
        self.lease.end(isFinal: false)
        let start = ContinuousClock.now
        self.readKeys { agreement in
            // If the server cannot join now, the next renewal tries again, and checks whether a
            // missing key was added meanwhile.
            guard let agreement, let entry = self.keys.entry(agreement) else {
                return self.recordRenewal(at: start, false)
            }
            self.join(with: entry)
        }
    }

    private func join(with entry: SharedKeys.Entry) {
        let start = ContinuousClock.now
        self.database.control(
            Self.insertServer,
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
            // The keys must be read after this server has joined: a server that changed its key
            // earlier did not know of this server.
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
            // If the rows cannot be decoded, the read counts as failed.
            guard case .success(let rows) = outcome else { return completion(nil) }
            completion(try? KeyAgreement(rows))
        }
    }
}

/// The number that a server got when it joined, and how far it has read ended credentials since.
struct AssignedNumber: Sendable {
    let number: Int64
    /// The time at which the server's request to join was sent, by its own clock.
    let start: ContinuousClock.Instant
    /// The number of the last ended credentials that the server has evicted.
    var seen: Int64

    /// Decodes the row that the statement `ServerMembership.insertServer` returns.
    init(_ row: Row, since start: ContinuousClock.Instant) throws {
        (self.number, self.seen, self.start) = (try row.integer("number"), try row.integer("seen_epoch"), start)
    }
}
