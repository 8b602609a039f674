internal import CPostgreSQL
internal import Reactor

/// One attempt to connect to one address and to read the server's identity, with a deadline for
/// the whole attempt. Use it on the event loop only.
final class ConnectAttempt: ReadinessHandler {
    typealias Completion = (Result<OpenedConnection, ConnectFailure>) -> Void

    private let endpoint: Endpoint
    private let settings: SessionSettings
    private let loop: EventLoop
    private let limit: Duration
    private var connection: OpaquePointer?
    private var token: WatchToken?
    private var timer: LoopTimer?
    private var completion: Completion?
    /// Whether the connection is open and the identity query was sent.
    private var hasAsked = false
    private var identity: ClusterIdentity?

    init(
        _ endpoint: Endpoint,
        _ settings: SessionSettings,
        on loop: EventLoop,
        limit: Duration,
        completion: @escaping Completion
    ) {
        self.endpoint = endpoint
        self.settings = settings
        self.loop = loop
        self.limit = limit
        self.completion = completion
        self.timer = LoopTimer(loop: loop) { [weak self] in self?.timeOut() }
    }

    deinit {
        if let connection { PQfinish(connection) }
    }

    /// Begins to connect. The completion gets the open connection, and then owns it.
    func start(_ parameters: [(name: String, value: String)]) {
        self.timer?.arm(at: .now + self.limit)
        let connection = withCStrings(parameters.map(\.name)) { names in
            withCStrings(parameters.map(\.value)) { PQconnectStartParams(names, $0, 0) }
        }
        guard let connection else { return self.end(.failure(ConnectFailure("out of memory"))) }
        self.connection = connection
        // By default, libpq writes notices to standard error.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        guard PQstatus(connection) != CONNECTION_BAD else { return self.fail(connection) }
        self.watch(connection, for: .write)
    }

    /// Ends the attempt without calling the completion.
    func cancel() {
        self.completion = nil
        self.end(nil)
    }

    func handle(_ readiness: Readiness) {
        guard let connection else { return }
        guard !self.hasAsked else { return self.readIdentity(connection) }
        // `PQconnectPoll` may close the socket and open another one, which may get the same
        // descriptor. So the loop must not watch the descriptor during this call.
        self.unwatch()
        switch PQconnectPoll(connection) {
        case PGRES_POLLING_READING: self.watch(connection, for: .read)
        case PGRES_POLLING_WRITING: self.watch(connection, for: .write)
        case PGRES_POLLING_OK: self.ask(connection)
        default: self.fail(connection)
        }
    }

    // MARK: - Private

    private func watch(_ connection: OpaquePointer, for interest: Readiness) {
        do throws(SystemError) {
            self.token = try self.loop.watch(PQsocket(connection), for: interest, trigger: .level, handler: self)
        } catch {
            self.end(.failure(ConnectFailure(error.description)))
        }
    }

    private func unwatch() {
        guard let connection, let token = self.token.take() else { return }
        self.loop.forget(token, of: PQsocket(connection))
    }

    private func ask(_ connection: OpaquePointer) {
        guard PQserverVersion(connection) >= 140_000 else {
            return self.end(.failure(ConnectFailure("\(self.endpoint): the server is older than PostgreSQL 14")))
        }
        guard PQsetnonblocking(connection, 1) == 0, PQsendQuery(connection, ClusterIdentity.query(self.settings)) == 1
        else { return self.fail(connection) }
        self.hasAsked = true
        self.flush(connection)
    }

    private func flush(_ connection: OpaquePointer) {
        let result = PQflush(connection)
        guard result >= 0 else { return self.fail(connection) }
        self.unwatch()
        self.watch(connection, for: result == 1 ? [.read, .write] : .read)
    }

    private func readIdentity(_ connection: OpaquePointer) {
        guard PQconsumeInput(connection) == 1 else { return self.fail(connection) }
        while PQisBusy(connection) == 0 {
            guard let result = PQgetResult(connection) else { return self.succeed(connection) }
            defer { PQclear(result) }
            do throws(ConnectFailure) {
                self.identity = try ClusterIdentity(result)
                let session = GivenSession(result, of: connection)
                if session.isUsed { throw ConnectFailure(GivenSession.sharedReason) }
                if !session.hasSchema { throw ConnectFailure(GivenSession.schemaReason) }
            } catch {
                return self.end(.failure(ConnectFailure("\(self.endpoint): \(error.reason)")))
            }
        }
        self.flush(connection)
    }

    private func succeed(_ connection: OpaquePointer) {
        guard let identity else {
            return self.end(.failure(ConnectFailure("\(self.endpoint): the server does not report its identity")))
        }
        self.unwatch()
        self.connection = nil
        self.end(.success(OpenedConnection(connection: connection, identity: identity)))
    }

    private func fail(_ connection: OpaquePointer) {
        // For a numeric address, libpq's message does not name the host.
        let text = ServerReport.firstLine(PQerrorMessage(connection))
        let isNamed = text.contains(self.endpoint.host.name)
        self.end(.failure(ConnectFailure(isNamed ? text : "\(self.endpoint): \(text)")))
    }

    private func timeOut() {
        self.end(.failure(ConnectFailure("\(self.endpoint): no answer within \(self.limit)")))
    }

    private func end(_ outcome: Result<OpenedConnection, ConnectFailure>?) {
        self.unwatch()
        self.timer?.abandon()
        if let connection = self.connection.take() { PQfinish(connection) }
        guard let outcome, let completion = self.completion.take() else { return }
        completion(outcome)
    }
}

/// The reason why no connection was opened. It names hosts and users, but never a password.
struct ConnectFailure: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
