internal import CPostgreSQL
internal import Reactor

/// A connection that single statements of many callers share. If the connection is lost, it
/// connects again. Use it on the event loop only.
///
/// All statements of one turn of the loop are sent together, in groups with one Sync each. A group
/// is one implicit transaction. If one statement fails, the server undoes the other statements of
/// its group. Each of these is then sent again with a Sync of its own.
final class PipelineConnection: SessionOwner {
    /// The maximum number of statements in a group. A larger group would save nothing, and would
    /// repeat more statements after a failure.
    private static let groupSize = 64
    /// The maximum number of times that a statement is sent again. After that, its caller gets the
    /// error.
    private static let maximumRepeats = 4

    private let connector: Connector
    private let options: PoolOptions
    private let loop: EventLoop
    private var session: Session?
    private var race: ConnectRace?
    private var queue = Fifo<Request>()
    private var backoff = Backoff(first: .milliseconds(50), longest: .milliseconds(400))
    private var isBackingOff = false
    private var lastFailure: String?
    private var isClosed = false
    private var listening: Listening?
    /// Whether the timer for the deadlines is set.
    private var isWatched = false
    private var flushTimer: LoopTimer?
    private var backoffTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    /// The number of requests that have no answer yet.
    private(set) var waiting = 0
    private(set) var retries = 0
    private(set) var lost = 0

    init(_ connector: Connector, _ options: PoolOptions) {
        self.connector = connector
        self.options = options
        self.loop = connector.loop
        self.flushTimer = LoopTimer(loop: self.loop) { [weak self] in self?.flush() }
        self.backoffTimer = LoopTimer(loop: self.loop) { [weak self] in self?.endBackoff() }
        self.deadlineTimer = LoopTimer(loop: self.loop) { [weak self] in self?.checkDeadlines() }
    }

    var isOpen: Bool { self.session != nil }

    var oldestWait: Duration {
        self.requests.lazy.filter { !$0.isFinished }.map { self.loop.now - $0.start }.max() ?? .zero
    }

    func submit(_ request: Request) {
        self.loop.assertOnLoop()
        guard !self.isClosed else {
            request.finish(.failure(.unavailable(reason: "the pool is closed")))
            return
        }
        guard self.waiting < self.options.maximumWaiting else {
            request.finish(.failure(.busy))
            return
        }
        request.start = self.loop.now
        self.waiting += 1
        if !self.isWatched { self.watchDeadlines() }
        self.queue.append(request)
        // The timer fires at the end of this turn of the loop, after all other requests of the
        // turn were submitted. All of them are then sent together.
        self.flushTimer?.arm(at: self.loop.now)
    }

    /// Listens to a channel on the current connection, and on all later connections.
    func listen(_ listening: Listening) {
        self.loop.assertOnLoop()
        self.listening = listening
        if let session { self.listen(on: session) }
    }

    /// Closes the connection if its server is on a timeline older than `timeline`.
    func leave(olderThan timeline: UInt32) {
        self.session?.fail(ifOlderThan: timeline)
    }

    /// Closes the connection. Requests without an answer fail.
    func close() {
        self.isClosed = true
        let requests = self.requests
        self.race?.cancel()
        self.race = nil
        self.session?.close()
        self.session = nil
        for timer in [self.flushTimer, self.backoffTimer, self.deadlineTimer] { timer?.abandon() }
        _ = self.queue.removeAll()
        for request in requests { self.finish(request, .failure(.unavailable(reason: "the pool is closed"))) }
    }

    func session(_ session: Session, answered request: Request, with answer: Answer) {
        self.lastFailure = nil
        self.backoff.reset()
        switch answer {
        case .rows(let rows): self.finish(request, .success(rows))
        case .failed(let error) where error.isStalePlan && request.repeats == 0: self.repeatAlone(request)
        case .failed(let error): self.finish(request, .failure(error))
        case .undone where request.repeats < Self.maximumRepeats: self.repeatAlone(request)
        case .undone: self.finish(request, .failure(.refused(code: "25P02", message: "the statement was undone")))
        }
    }

    func session(_ session: Session, lost requests: [Request], reason: String) {
        guard session === self.session else { return }
        self.session = nil
        self.lost += 1
        self.lastFailure = reason
        var again: [Request] = []
        for request in requests where !request.isFinished {
            if request.hasLostConnection {
                self.finish(request, .failure(.unavailable(reason: reason)))
            } else {
                request.hasLostConnection = true
                self.retries += 1
                again.append(request)
            }
        }
        self.queue.prepend(again)
        if session.hasAnswered { self.connectIfNeeded() } else { self.backOff() }
    }

    // MARK: - Private

    private func finish(_ request: Request, _ outcome: Request.Outcome) {
        if request.finish(outcome) { self.waiting -= 1 }
    }

    private func repeatAlone(_ request: Request) {
        guard !request.isFinished else { return }
        request.repeats += 1
        request.isAlone = true
        self.retries += 1
        self.queue.append(request)
        self.flushTimer?.arm(at: self.loop.now)
    }

    private func flush() {
        guard let session else { return self.connectIfNeeded() }
        var size = 0
        while let request = self.queue.popFirst() {
            guard !request.isFinished else { continue }
            if request.isAlone, size > 0 {
                session.sync()
                size = 0
            }
            guard session.submit(request) else {
                // The connection is lost, and `submit` has already notified this object. This
                // request was not sent, so it goes back to the queue.
                self.queue.prepend([request])
                return self.connectIfNeeded()
            }
            size += 1
            if request.isAlone || size == Self.groupSize {
                session.sync()
                size = 0
            }
        }
        if size > 0 { session.sync() }
    }

    private func connectIfNeeded() {
        guard self.session == nil, self.race == nil, !self.isBackingOff, !self.isClosed, !self.queue.isEmpty else {
            return
        }
        let race = self.connector.race(self.options.readerSettings) { [weak self] outcome in
            guard let self else { return }
            self.take(outcome)
        }
        self.race = race
        race.start()
    }

    private func take(_ outcome: Result<OpenedConnection, ConnectFailure>) {
        self.race = nil
        do {
            let session = try Session(outcome.get(), on: self.loop)
            session.owner = self
            self.session = session
            self.listen(on: session)
            self.flush()
        } catch {
            self.lastFailure = (error as? ConnectFailure)?.reason ?? "\(error)"
            self.backOff()
        }
    }

    /// Listens to the channel on a session. Messages that are sent before the server has received
    /// the `listen` are missed, which is harmless: a message only announces a change.
    private func listen(on session: Session) {
        guard let listening else { return }
        session.onMessage = listening.onMessage
        let request = Request(listening.statement, countsAtSync: false) { _ in }
        request.start = self.loop.now
        self.waiting += 1
        guard session.submit(request) else {
            return self.finish(request, .failure(.unavailable(reason: "the connection was lost")))
        }
        session.sync()
    }

    private func backOff() {
        guard !self.isClosed else { return }
        self.isBackingOff = true
        self.backoffTimer?.arm(at: .now + self.backoff.next())
    }

    private func endBackoff() {
        self.isBackingOff = false
        self.connectIfNeeded()
    }

    /// All requests that may have no answer yet.
    private var requests: [Request] { self.queue.all + (self.session?.requests ?? []) }

    private func watchDeadlines() {
        self.isWatched = true
        self.deadlineTimer?.arm(at: self.loop.now + self.options.readLimit / 24)
    }

    private func checkDeadlines() {
        self.isWatched = false
        let limit = self.options.readLimit
        if let session, session.isSilent(for: limit) { session.fail("no answer within \(limit)") }
        let reason = self.lastFailure ?? self.race?.state ?? "no answer within \(limit)"
        for request in self.requests where self.loop.now - request.start > self.limit(of: request) {
            self.finish(request, .failure(.unavailable(reason: reason)))
        }
        self.queue.removeAll(where: \.isFinished)
        if self.waiting > 0 || self.session?.inFlight.isEmpty == false { self.watchDeadlines() }
    }

    /// The maximum total time of a request, including the time after it was sent again.
    private func limit(of request: Request) -> Duration {
        request.hasLostConnection ? self.options.readLimit * 2 : self.options.readLimit
    }
}

/// A channel that a connection listens to.
struct Listening {
    let statement: Statement
    let onMessage: (String) -> Void
}
