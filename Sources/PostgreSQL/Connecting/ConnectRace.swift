internal import CPostgreSQL
internal import Reactor

/// Connects to every address of the database at the same time. The first server that accepts
/// writes and that the `ClusterGuard` admits wins.
///
/// The address that won the last race gets a head start. The race tries the other addresses only
/// if that address fails, or does not answer within the head start. Use it on the event loop only.
final class ConnectRace {
    private static let headStart = Duration.milliseconds(250)
    /// The time limit of a whole race, as a multiple of the time limit of one attempt. This limit
    /// also ends a race whose name lookup does not return.
    private static let timeoutFactor = 3

    private let connector: Connector
    private let settings: SessionSettings
    private var completion: ConnectAttempt.Completion?
    private var running: [Endpoint: ConnectAttempt] = [:]
    private var tried: Set<Endpoint> = []
    private var pendingNames = 0
    private var hasStartedAll = false
    private var reasons: [String] = []
    private var fault: ClusterFault?
    private var headStartTimer: LoopTimer?
    private var timer: LoopTimer?

    init(_ connector: Connector, _ settings: SessionSettings, completion: @escaping ConnectAttempt.Completion) {
        self.connector = connector
        self.settings = settings
        self.completion = completion
        self.headStartTimer = LoopTimer(loop: connector.loop) { [weak self] in self?.startAll() }
        self.timer = LoopTimer(loop: connector.loop) { [weak self] in self?.timeOut() }
    }

    func start() {
        self.timer?.arm(at: .now + self.connector.limit * Self.timeoutFactor)
        guard let winner = self.connector.winner else { return self.startAll() }
        self.headStartTimer?.arm(at: .now + Self.headStart)
        self.attempt(winner)
    }

    /// The failures so far, and the addresses that have not answered yet.
    var state: String {
        let silent = self.running.keys.map { "\($0): no answer yet" }.sorted()
        let names = self.pendingNames > 0 ? ["a host's name is not resolved yet"] : []
        return (self.reasons + silent + names).joined(separator: "; ")
    }

    /// Ends all attempts without calling the completion.
    func cancel() {
        self.completion = nil
        self.end()
    }

    // MARK: - Private

    private func startAll() {
        guard !self.hasStartedAll, self.completion != nil else { return }
        self.hasStartedAll = true
        self.headStartTimer?.disarm()
        // This loop itself counts as a pending name, so that the race does not end before the loop
        // has tried all hosts.
        self.pendingNames += 1
        for host in self.connector.address.hosts {
            guard host.kind == .name else {
                self.attempt(Endpoint(host: host, address: nil))
                continue
            }
            self.pendingNames += 1
            self.connector.resolver.addresses(of: host.name) { [weak self] in self?.take($0, of: host) }
        }
        self.pendingNames -= 1
        self.endIfLost()
    }

    private func take(_ addresses: [String], of host: DatabaseHost) {
        self.pendingNames -= 1
        if addresses.isEmpty { self.reasons.append("\(host): the name has no address") }
        for address in addresses { self.attempt(Endpoint(host: host, address: address)) }
        self.endIfLost()
    }

    private func attempt(_ endpoint: Endpoint) {
        guard self.completion != nil, self.tried.insert(endpoint).inserted else { return }
        let connector = self.connector
        let settings = self.settings
        let attempt = ConnectAttempt(
            endpoint,
            settings,
            on: connector.loop,
            limit: connector.limit
        ) { [weak self] outcome in
            if let self {
                self.take(outcome, from: endpoint)
            } else if case .success(let opened) = outcome {
                PQfinish(opened.connection)
            }
        }
        self.running[endpoint] = attempt
        let addresses = endpoint.address.map { [$0] } ?? []
        attempt.start(connector.address.parameters(hosts: [endpoint.host], addresses: addresses, name: settings.name))
    }

    private func take(_ outcome: Result<OpenedConnection, ConnectFailure>, from endpoint: Endpoint) {
        self.running[endpoint] = nil
        switch outcome {
        case .success(let opened): self.take(opened, from: endpoint)
        case .failure(let failure): self.tryOthers(after: failure.reason)
        }
    }

    private func take(_ opened: OpenedConnection, from endpoint: Endpoint) {
        guard self.completion != nil else { return PQfinish(opened.connection) }
        let verdict = self.connector.cluster.judge(opened.identity)
        if case .refused(let kind) = verdict {
            PQfinish(opened.connection)
            let fault = ClusterFault(server: endpoint.description, kind: kind)
            self.fault = fault
            return self.tryOthers(after: fault.description)
        }
        self.connector.winner = endpoint
        let completion = self.completion.take()
        self.end()
        if verdict == .advanced { self.connector.onAdvance(opened.identity.timeline) }
        completion?(.success(opened))
    }

    /// Records the failure of an attempt, and tries the addresses that were not tried yet. If none
    /// are left, the race fails.
    private func tryOthers(after reason: String) {
        if !self.reasons.contains(reason) { self.reasons.append(reason) }
        if !self.hasStartedAll { self.startAll() }
        self.endIfLost()
    }

    private func endIfLost() {
        guard self.hasStartedAll, self.running.isEmpty, self.pendingNames == 0 else { return }
        self.lose()
    }

    private func timeOut() {
        if self.pendingNames > 0 { self.reasons.append("the hosts' names were not resolved in time") }
        self.lose()
    }

    private func lose() {
        guard let completion = self.completion.take() else { return }
        self.connector.winner = nil
        if let fault { self.connector.cluster.record(fault) }
        self.connector.resolver.forget()
        self.end()
        completion(.failure(ConnectFailure(self.reasons.joined(separator: "; "))))
    }

    private func end() {
        self.headStartTimer?.abandon()
        self.timer?.abandon()
        for attempt in self.running.values { attempt.cancel() }
        self.running.removeAll()
    }
}
