internal import CPostgreSQL
internal import Reactor

/// An open connection to the server, in libpq's pipeline mode.
///
/// It prepares each statement in the flush that sends the statement for the first time. The loop
/// watches the socket level-triggered: for input always, and for output only while the socket has
/// no room for the rest of libpq's output.
///
/// `@unchecked Sendable`: only the loop's thread uses the members, which the methods assert.
final class Session: ReadinessHandler, @unchecked Sendable {
    /// The maximum number of prepared statements; further statements are sent unprepared. Only SQL
    /// texts that contain values could reach this limit.
    private static let maximumPrepared = 1000

    enum Item {
        case prepare(Statement.Key)
        case execute(Request)
        case sync
    }

    let loop: EventLoop
    /// The server's timeline when this connection was opened.
    let timeline: UInt32
    weak var owner: (any SessionOwner)?
    /// `nil` once the connection is closed.
    private(set) var connection: OpaquePointer?
    private var token: WatchToken?
    private var watchesWrites = false
    private var prepared: [Statement.Key: String] = [:]
    private var lastName = 0
    /// The random beginning of the names of prepared statements. If a pooler shares the session,
    /// no client can run another client's statement, since its name differs.
    private let namePrefix = String(UInt64.random(in: 0..<1 << 40), radix: 36)

    /// The items that were sent, in their order. Each item has one result, and a `sync` ends a
    /// group of statements.
    var inFlight = Fifo<Item>()
    /// The results of the group that the server is now answering.
    var group = Group()
    /// The time when the server last sent data. After an idle period, it is the time when the
    /// first request was sent.
    var lastHeard = ContinuousClock.now
    /// The last warning that the server has sent in the current group.
    var warning: String?
    /// Whether the server has answered any request on this connection.
    var hasAnswered = false
    /// Called with each message on a channel that the connection listens to.
    var onMessage: ((String) -> Void)?

    /// Takes ownership of the connection, and closes it even if this initializer throws.
    init(_ opened: OpenedConnection, on loop: EventLoop) throws(DatabaseError) {
        let connection = opened.connection
        self.loop = loop
        self.timeline = opened.identity.timeline
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            PQfinish(connection)
            throw .unavailable(reason: "the connection could not be prepared")
        }
        self.connection = connection
        do {
            self.token = try loop.watch(PQsocket(connection), for: .read, trigger: .level, handler: self)
        } catch {
            PQfinish(connection)
            self.connection = nil
            throw .unavailable(reason: error.description)
        }
        self.receiveNotices(from: connection)
    }

    deinit {
        // Unless the loop has ended, the owner has already closed the connection.
        if let connection { PQfinish(connection) }
    }

    var isOpen: Bool { self.connection != nil }

    /// The requests that were sent and have no answer yet.
    var requests: [Request] {
        let held = self.group.held.map(\.request)
        return (held + self.inFlight.all.compactMap(\.request)).filter { !$0.isFinished }
    }

    /// Whether an answer is due, but the server has sent nothing for longer than `limit`.
    func isSilent(for limit: Duration) -> Bool {
        !self.inFlight.isEmpty && self.loop.now - self.lastHeard > limit
    }

    /// Whether the connection is open, no answer is due, and no transaction is open.
    var isClean: Bool {
        guard let connection else { return false }
        return self.inFlight.isEmpty && PQtransactionStatus(connection) == PQTRANS_IDLE
    }

    /// Sends a statement. The caller must then call `sync()`, which ends the group of statements
    /// that succeed or fail together. Returns `false` if the connection is lost and nothing was
    /// sent; `fail` then notifies the owner.
    func submit(_ request: Request) -> Bool {
        self.loop.assertOnLoop()
        guard let connection else { return false }
        if self.inFlight.isEmpty { self.lastHeard = self.loop.now }
        let key = request.statement.key
        if self.prepared[key] == nil, self.prepared.count < Self.maximumPrepared {
            // The session never uses a name twice: a statement that has failed may still exist on
            // the server under its name.
            self.lastName += 1
            let name = "\(self.namePrefix)_\(self.lastName)"
            guard PQsendPrepare(connection, name, key.sql, Int32(key.types.count), key.types) == 1 else {
                self.failSending(connection)
                return false
            }
            self.prepared[key] = name
            self.inFlight.append(.prepare(key))
        }
        let name = self.prepared[key]
        let isSent = request.statement.withParameters { count, values, lengths, formats in
            if let name {
                return PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1) == 1
            }
            return PQsendQueryParams(connection, key.sql, count, key.types, values, lengths, formats, 1) == 1
        }
        guard isSent else {
            self.failSending(connection)
            return false
        }
        self.inFlight.append(.execute(request))
        return true
    }

    /// Ends the group of statements, and makes libpq send its output.
    func sync() {
        guard let connection else { return }
        guard PQpipelineSync(connection) == 1 else { return self.failSending(connection) }
        self.inFlight.append(.sync)
        self.flush()
    }

    /// Forgets that a statement is prepared, so that it is prepared again when it is next sent.
    func forget(_ key: Statement.Key) {
        self.prepared[key] = nil
    }

    /// Closes the connection and notifies the owner.
    func fail(_ reason: String) {
        guard self.isOpen else { return }
        self.close()
        // The first request in flight may already have its result.
        if self.group.hasResult { _ = self.inFlight.popFirst() }
        self.group.hasResult = false
        let requests = self.requests
        self.group.held = []
        _ = self.inFlight.removeAll()
        self.owner?.session(self, lost: requests, reason: reason)
    }

    /// Closes the connection if its server is on a timeline older than `timeline`. Such a server
    /// lacks data that was stored on the newer timeline.
    func fail(ifOlderThan timeline: UInt32) {
        guard self.timeline < timeline else { return }
        self.fail("the server is on timeline \(self.timeline), and \(timeline) is in use")
    }

    /// Closes the connection without notifying the owner, who expects no answer.
    func close() {
        guard let connection = self.connection.take() else { return }
        if let token = self.token.take() { self.loop.forget(token, of: PQsocket(connection)) }
        PQfinish(connection)
    }

    func handle(_ readiness: Readiness) {
        guard let connection else { return }
        if !readiness.isDisjoint(with: [.read, .hangUp]) {
            let isAlive = PQconsumeInput(connection) == 1
            self.lastHeard = self.loop.now
            // Results that arrived before the connection was lost still count.
            self.readAnswers()
            self.readMessages()
            // While it handled these results, the owner may have closed the connection.
            guard self.isOpen else { return }
            guard isAlive else { return self.failSending(connection) }
        }
        self.flush()
    }

    // MARK: - Private

    /// Passes each message that has arrived to `onMessage`.
    private func readMessages() {
        while let connection = self.connection, let message = PQnotifies(connection) {
            let text = String(cString: message.pointee.extra)
            PQfreemem(message)
            self.onMessage?(text)
        }
    }

    private func flush() {
        guard let connection else { return }
        let result = PQflush(connection)
        guard result >= 0 else { return self.failSending(connection) }
        guard let token, (result == 1) != self.watchesWrites else { return }
        self.watchesWrites = result == 1
        let interest: Readiness = self.watchesWrites ? [.read, .write] : .read
        self.loop.change(token, of: PQsocket(connection), to: interest, trigger: .level)
    }

    private func failSending(_ connection: OpaquePointer) {
        let reason = ServerReport.firstLine(PQerrorMessage(connection))
        self.fail(reason.isEmpty ? "the connection was lost" : reason)
    }

    private func receiveNotices(from connection: OpaquePointer) {
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                // The pointer is valid: the session owns the connection, and only the connection
                // calls this receiver, on the event loop.
                let session = Unmanaged<Session>.fromOpaque(context).takeUnretainedValue()
                let report = ServerReport(result)
                if report.isWarning { session.warning = report.message }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}

extension Session.Item {
    var request: Request? {
        if case .execute(let request) = self { request } else { nil }
    }
}
