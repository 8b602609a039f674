internal import Foundation
internal import Glibc
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Reactor
internal import Synchronization

/// This process among those that share the database.
///
/// It has a number, under which it leases pushes, and renews it twice a second. A process that is silent for some seconds is fenced
/// by another one: what it has leased is anybody's, and its number is never renewed, so that it takes another one when it comes
/// back. With each renewal it learns what has ended elsewhere (`Node+ends.swift`), and may go by what it remembers for as long
/// as it may send.
final class Node: Sendable {
    /// How often the number is renewed, and others are looked at: a part of the time that a takeover takes.
    static let interval = Duration.milliseconds(500)
    /// How long a number is good without renewal, by the database's clock, in milliseconds.
    static let duration: Int64 = 5000
    /// How long after the last renewal, counted from when it was sent, this process may begin to send pushes: less than the
    /// lease, so that a process that was stopped and goes on has stopped sending by itself.
    static let confidence = Duration.seconds(4)
    /// How long this process's renewals must have been answered before it fences others: after a failover all seem to be late,
    /// and each renews its number within 2.5 s: pauses and attempts to connect take a second at most, and `interval`. Less than
    /// `duration`, so that a process that has just started, or gone on, takes over as soon as another one.
    static let fencingDelay = Duration.seconds(4)
    /// After how many renewals it deletes what ended an hour ago.
    private static let trimInterval = 300

    struct State {
        var membership: Membership
        /// Since when all renewals were answered.
        var answeredSince: ContinuousClock.Instant?
        var renewals = 0
        var isEnded = false
        /// Whether a read of ended credentials is running.
        var isReading = false
        /// Callers that wait for the next read to start.
        var waiters: [@Sendable (_ isCurrent: Bool) -> Void] = []
    }

    let options: StoreOptions
    /// Called from any thread when what others have leased has become anybody's.
    private let onFreed: @Sendable () -> Void
    let database: ConnectionPool
    let announcements: Announcements
    let lease: CredentialLease
    let state: Mutex<State>
    private let schema: String
    private let keys: SharedKeys
    private let loop: EventLoop

    init(
        _ membership: Membership,
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
        self.lease = CredentialLease(goodUntil: membership.start + Self.confidence)
        self.state = Mutex(State(membership: membership))
    }

    /// The process's number, which was given out once. Another one after it was fenced.
    var number: Int64 { self.state.withLock { $0.membership.number } }

    /// Whether pushes that are leased under the number may be sent; `false` if it was not renewed in time.
    var isAlive: Bool { self.lease.term != nil }

    /// The machine and the process, for operators.
    static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        // Without a name the process's number is left.
        guard gethostname(&name, name.count - 1) == 0 else { return "process \(getpid())" }
        return "\(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)) \(getpid())"
    }

    /// Begins to renew the number, until `end`.
    func begin() {
        self.loop.execute { self.wait() }
    }

    /// Renews the number no more. What is leased under it stays so until others notice.
    func abandon() {
        self.state.withLock { $0.isEnded = true }
        self.lease.end(isFinal: true)
    }

    /// Gives the number up, and with it what is leased under it.
    func end() async {
        self.abandon()
        let statement = self.options.isListedAfterEnd ? Self.leaving : Self.vanishing
        // If this fails, others fence it some seconds later.
        guard (try? await self.database.query(statement, self.number)) != nil else { return }
        guard self.options.isListedAfterEnd else { return }
        // Not by `announcements`, which tell some milliseconds later, when the connections are closed. A lost one costs a poll.
        let message = NodeMessage(sender: self.number).with(.freed)
        _ = try? await self.database.query(Announcements.telling, message.description)
    }

    /// Takes a message of another process, and returns it; `nil`: it is none.
    func hear(_ text: String) -> NodeMessage? {
        guard let message = NodeMessage(text), message.sender != self.number, self.options.mayExchange() else {
            return nil
        }
        if message.hasEnds { self.catchUp { _ in } }
        if message.hasFreed { self.onFreed() } else if message.hasWork { self.options.onWork() }
        return message
    }

    /// Tells other processes of new pushes that they may have to send.
    func announce(workIn lanes: Set<String>) {
        let lanes = lanes.intersection(self.options.announcedLanes)
        if !lanes.isEmpty { self.announcements.add(.work(lanes), from: self.number) }
    }

    /// Tells other processes that there is something to repeat at event streams of theirs.
    func announceEvents() {
        self.announcements.add(.events, from: self.number)
    }

    /// Notes a fencing by this process, and tells others: each lane looks at once, and need not wait until it is time.
    func noteFencing(_ rows: Rows) {
        guard rows.changed > 0 else { return }
        self.onFreed()
        self.announcements.add(.freed, from: self.number)
    }

    // MARK: - Private

    /// On the loop.
    private func wait() {
        guard !self.state.withLock({ $0.isEnded }) else { return }
        // The loop keeps the timer until it has fired.
        LoopTimer(loop: self.loop) { self.renew() }.arm(at: .now + Self.interval)
    }

    private func renew() {
        let (number, isEnded) = self.state.withLock { ($0.membership.number, $0.isEnded) }
        if isEnded { return }
        guard self.options.mayExchange() else { return self.wait() }
        let start = ContinuousClock.now
        self.database.control(Self.renewing, number) { outcome in
            switch outcome {
            // Only what was stored after the renewal counts: see `catchUp`.
            case .success(let rows) where rows.changed == 1: self.catchUp { self.noteRenewal(at: start, $0) }
            case .success: self.rejoin()
            case .failure: self.noteRenewal(at: start, false)
            }
        }
    }

    private func noteRenewal(at start: ContinuousClock.Instant, _ isCurrent: Bool) {
        // A process that was stopped, and perhaps the others with it, begins anew.
        let wasHeld = self.lease.term != nil
        let (number, mayFence, mayTrim) = self.state.withLock { state in
            guard isCurrent else {
                state.answeredSince = nil
                return (state.membership.number, false, false)
            }
            let since = wasHeld ? state.answeredSince ?? start : start
            state.answeredSince = since
            state.renewals = (state.renewals + 1) % Self.trimInterval
            return (state.membership.number, .now - since >= Self.fencingDelay, state.renewals == 0)
        }
        if isCurrent { self.lease.extend(until: start + Self.confidence) }
        // If it fails, it is done later, or by another process.
        if mayTrim { self.database.control(Self.trimming) { _ in } }
        guard mayFence else { return self.wait() }
        self.database.control(Self.fencing, number) { outcome in
            // If it fails, it is done with the next renewal.
            if case .success(let rows) = outcome { self.noteFencing(rows) }
            self.wait()
        }
    }

    /// Takes another number, after the last one was fenced.
    private func rejoin() {
        // A renewal that was on its way when the number was given up finds it gone.
        if self.state.withLock({ $0.isEnded }) { return }
        guard self.options.mayExchange() else { return self.wait() }
        // Abandons requests that were admitted under the old number.
        self.lease.end(isFinal: false)
        let start = ContinuousClock.now
        self.readKeys { agreement in
            // A failure is tried again with the next renewal, and whether a key that is lacking has come.
            guard let agreement, let entry = self.keys.entry(agreement) else {
                return self.noteRenewal(at: start, false)
            }
            self.join(with: entry)
        }
    }

    private func join(with entry: SharedKeys.Entry) {
        let start = ContinuousClock.now
        self.database.control(
            Self.joiningWithKeys,
            Self.name,
            self.options.release,
            self.schema,
            Int64(entry.sealing),
            entry.held,
            entry.checkValue
        ) { outcome in
            guard case .success(let rows) = outcome, let row = rows.first,
                let membership = try? Membership(row, since: start)
            else { return self.noteRenewal(at: start, false) }
            // Only what was stored after it had joined counts: who took another key before has not seen it.
            self.readKeys { agreement in
                let mayStay = agreement.map { agreement in
                    self.keys.confirm(entry, as: membership.number, agreement) {
                        self.state.withLock { $0.membership = membership }
                    }
                }
                guard mayStay == true else {
                    return self.database.control(Self.vanishing, membership.number) { _ in
                        self.noteRenewal(at: start, false)
                    }
                }
                self.lease.note([.everything])
                self.catchUp { self.noteRenewal(at: start, $0) }
            }
        }
    }

    private func readKeys(_ completion: @escaping @Sendable (KeyAgreement?) -> Void) {
        self.database.control(KeyAgreement.all) { outcome in
            // What cannot be read is treated as if it had failed.
            guard case .success(let rows) = outcome else { return completion(nil) }
            completion(try? KeyAgreement(rows))
        }
    }
}

/// What a process has been given when it joined the others, and how far it has come since.
struct Membership: Sendable {
    let number: Int64
    /// When it asked to join, by the process's own clock.
    let start: ContinuousClock.Instant
    /// The number up to which it has forgotten all that ended.
    var seen: Int64

    /// Takes the row that `Node.joining` returns.
    init(_ row: Row, since start: ContinuousClock.Instant) throws(DatabaseError) {
        self.number = try row.integer(0)
        self.seen = try row.integer(1)
        self.start = start
    }
}
