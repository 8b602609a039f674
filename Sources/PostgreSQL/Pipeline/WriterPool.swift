internal import CPostgreSQL
internal import Reactor

/// The connections that transactions borrow, one for each transaction. They are opened when they
/// are first needed. Use the pool on the event loop only.
final class WriterPool: SessionOwner {
    typealias Loan = Result<Session, DatabaseError>

    private struct Waiter {
        let start: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let completion: (Loan) -> Void
    }

    private let connector: Connector
    private let options: PoolOptions
    private let loop: EventLoop
    /// The idle connections. The pool lends the most recently used connection first. So the other
    /// connections stay idle, and can be closed.
    private var idle: [(session: Session, since: ContinuousClock.Instant)] = []
    private var borrowed: [ObjectIdentifier: Session] = [:]
    private var races: [ObjectIdentifier: ConnectRace] = [:]
    private var waiters = Fifo<Waiter>()
    private var backoff = Backoff(first: .milliseconds(50), longest: .milliseconds(400))
    private var isBackingOff = false
    private var lastFailure: String?
    private var isClosed = false
    private var isWatched = false
    private var backoffTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    private var idleTimer: LoopTimer?
    private(set) var lost = 0

    init(_ connector: Connector, _ options: PoolOptions) {
        self.connector = connector
        self.options = options
        self.loop = connector.loop
        self.backoffTimer = LoopTimer(loop: self.loop) { [weak self] in self?.endBackoff() }
        self.deadlineTimer = LoopTimer(loop: self.loop) { [weak self] in self?.checkDeadlines() }
        self.idleTimer = LoopTimer(loop: self.loop) { [weak self] in self?.closeIdle() }
    }

    var open: Int { self.idle.count + self.borrowed.count }
    var waiting: Int { self.waiters.count }
    var oldestWait: Duration { self.waiters.first.map { self.loop.now - $0.start } ?? .zero }
    /// Whether no transaction is running or waiting for a connection.
    var isQuiet: Bool { self.borrowed.isEmpty && self.waiters.isEmpty }

    /// Passes a connection to `completion`, in the order of the calls. The borrower must return it
    /// with `giveBack`.
    func borrow(until deadline: ContinuousClock.Instant, _ completion: @escaping (Loan) -> Void) {
        self.loop.assertOnLoop()
        guard !self.isClosed else { return completion(.failure(.unavailable(reason: "the pool is closed"))) }
        guard self.waiters.count < self.options.maximumWaiting else { return completion(.failure(.busy)) }
        self.waiters.append(Waiter(start: self.loop.now, deadline: deadline, completion: completion))
        self.serve()
        self.watchDeadlines()
    }

    /// Takes a borrowed connection back. If it is still in a transaction, closes it.
    func giveBack(_ session: Session) {
        self.loop.assertOnLoop()
        guard self.borrowed.removeValue(forKey: ObjectIdentifier(session)) != nil else { return }
        if session.isOpen, session.isClean, !self.isClosed {
            self.keep(session)
            self.lastFailure = nil
        } else {
            session.close()
        }
        self.serve()
    }

    /// Closes connections to servers on a timeline older than `timeline`. Transactions on these
    /// connections fail.
    func leave(olderThan timeline: UInt32) {
        for session in self.idle.map(\.session) + self.borrowed.values { session.fail(ifOlderThan: timeline) }
    }

    /// Closes all connections; running transactions fail.
    func close() {
        self.isClosed = true
        self.backoffTimer?.abandon()
        self.deadlineTimer?.abandon()
        self.idleTimer?.abandon()
        for race in self.races.values { race.cancel() }
        self.races.removeAll()
        for idle in self.idle { idle.session.close() }
        self.idle.removeAll()
        for session in self.borrowed.values { session.fail("the pool is closed") }
        for waiter in self.waiters.removeAll() {
            waiter.completion(.failure(.unavailable(reason: "the pool is closed")))
        }
    }

    func session(_ session: Session, answered request: Request, with answer: Answer) {
        switch answer {
        case .rows(let rows): request.finish(.success(rows))
        case .failed(let error): request.finish(.failure(error))
        case .undone:
            request.finish(.failure(.refused(code: "25P02", message: "the transaction had failed before")))
        }
    }

    func session(_ session: Session, lost requests: [Request], reason: String) {
        self.lost += 1
        self.lastFailure = reason
        self.idle.removeAll { $0.session === session }
        // If a transaction has borrowed the lost connection, that transaction gives it back
        // itself.
        for request in requests { request.finish(.failure(.unavailable(reason: reason))) }
        self.serve()
    }

    // MARK: - Private

    private func serve() {
        while !self.waiters.isEmpty, let session = self.idle.popLast()?.session {
            // The last transaction may have left a statement that the server has not answered yet.
            guard session.isClean else {
                session.close()
                continue
            }
            self.borrowed[ObjectIdentifier(session)] = session
            self.waiters.popFirst()?.completion(.success(session))
        }
        self.connectIfNeeded()
    }

    private func keep(_ session: Session) {
        self.idle.append((session, self.loop.now))
        if self.idle.count == 2 { self.idleTimer?.arm(at: self.loop.now + self.options.idleLimit) }
    }

    /// Closes connections that have been idle longer than the limit, but keeps one of them. So the
    /// connections of a burst do not stay open.
    private func closeIdle() {
        let oldest = self.loop.now - self.options.idleLimit
        while self.idle.count > 1, self.idle[0].since <= oldest { self.idle.removeFirst().session.close() }
        if self.idle.count > 1 { self.idleTimer?.arm(at: self.idle[0].since + self.options.idleLimit) }
    }

    private func connectIfNeeded() {
        guard !self.isClosed, !self.isBackingOff else { return }
        while self.races.count < self.waiters.count, self.open + self.races.count < max(1, self.options.writers) {
            var race: ConnectRace?
            let connecting = self.connector.race(self.options.writerSettings) { [weak self] outcome in
                guard let self, let race = race.take() else { return }
                self.races[ObjectIdentifier(race)] = nil
                self.take(outcome)
            }
            race = connecting
            self.races[ObjectIdentifier(connecting)] = connecting
            connecting.start()
            if self.isBackingOff { return }
        }
    }

    private func take(_ outcome: Result<OpenedConnection, ConnectFailure>) {
        do {
            let session = try Session(outcome.get(), on: self.loop)
            session.owner = self
            self.backoff.reset()
            self.lastFailure = nil
            self.keep(session)
            self.serve()
        } catch {
            self.lastFailure = (error as? ConnectFailure)?.reason ?? "\(error)"
            self.backOff()
        }
    }

    private func backOff() {
        guard !self.isClosed, !self.isBackingOff else { return }
        self.isBackingOff = true
        self.backoffTimer?.arm(at: .now + self.backoff.next())
    }

    private func endBackoff() {
        self.isBackingOff = false
        self.connectIfNeeded()
    }

    private func watchDeadlines() {
        guard !self.isWatched, !self.isClosed else { return }
        self.isWatched = true
        self.deadlineTimer?.arm(at: self.loop.now + self.options.silenceLimit / 24)
    }

    private func checkDeadlines() {
        self.isWatched = false
        let limit = self.options.silenceLimit
        for session in self.borrowed.values where session.isSilent(for: limit) {
            session.fail("no answer within \(limit)")
        }
        let now = self.loop.now
        // If no attempt to connect has failed or is running, all connections are in use, and the
        // error is `busy`.
        let reason = self.lastFailure ?? self.races.values.first?.state
        let failure = reason.map { DatabaseError.unavailable(reason: $0) } ?? .busy
        let expired = self.waiters.all.filter { $0.deadline <= now }
        self.waiters.removeAll { $0.deadline <= now }
        for waiter in expired { waiter.completion(.failure(failure)) }
        if !self.isQuiet { self.watchDeadlines() }
    }
}
