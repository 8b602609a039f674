public import Foundation
public import HTTPSignatures
public import PushAPI
public import PushClient
internal import Synchronization

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// A server in memory, for an app's own tests: it signs its answers as the real one does, and its
/// network can be made to misbehave.
///
/// ```swift
/// let server = TestServer()
/// let id = server.add("Your result is in.")
/// let inbox = try await server.client().refresh().value
/// server.network = .portal
/// let kept = try await server.client(store: store).refresh()  // cached, with its date
/// ```
/// Its event streams tell what is added, so that `PushClient.events(platform:silence:)` is tested
/// with it, too. It has one account, whose credentials it does not look at unless
/// ``takesCredentials`` is false. Tests may run at once: each server is reached by its own
/// address, and only by sessions with its configuration.
public final class TestServer: Sendable {
    /// Its address, which exists in this process only.
    public let url: URL
    /// What its answers are signed with.
    public let key: SigningKey
    private let state = Mutex(TestServerState())
    /// The identifier of its one account.
    static let account = "dGhlIG9uZSBhY2NvdW50IQ"

    /// A server without notifications.
    public init() {
        let host = "\(UUID().uuidString.lowercased()).test"
        self.key = SigningKey()
        // A name of letters, digits and hyphens is always a URL's host.
        self.url = URL(string: "https://\(host)") ?? URL(fileURLWithPath: "/")
        TestServerProtocol.servers.withLock { $0[host] = Weak(self) }
    }

    deinit {
        _ = TestServerProtocol.servers.withLock { $0.removeValue(forKey: self.url.host ?? "") }
    }

    // MARK: Clients

    /// The configuration of sessions that reach it.
    public var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [TestServerProtocol.self]
        return configuration
    }

    /// Options that pin its key and reach it.
    public var options: PushClient.Options {
        PushClient.Options(signatures: .pinned([self.key.publicKey]), configuration: self.configuration)
    }

    /// A client of it.
    public func client(
        account: String = "alice",
        options: PushClient.Options? = nil,
        store: AnswerStore = .memory
    ) -> PushClient {
        let credentials = PushClient.Credentials.token("spt_\(account)", account: account)
        return PushClient(server: self.url, credentials: credentials, options: options ?? self.options, store: store)
    }

    // MARK: Its notifications

    /// Adds a notification, as if somebody had sent it; returns its id.
    @discardableResult
    public func add(_ payload: JSONValue, isReadOnce: Bool = false, expiresAt: Date = .distantFuture) -> Int64 {
        let (id, wakes) = self.state.withLock { state in
            let id = state.add(payload, isReadOnce: isReadOnce, expiresAt: expiresAt)
            return (id, state.streams.tell(id))
        }
        for wake in wakes { wake() }
        return id
    }

    /// Adds a text.
    @discardableResult
    public func add(_ text: String) -> Int64 { self.add(.string(text)) }

    /// Takes a notification back, as its sender would.
    public func recall(_ id: Int64) {
        self.state.withLock { $0.remove(id) }
    }

    /// The notifications that it has, the oldest first.
    public var notifications: [NotificationItem] { self.state.withLock { $0.items } }

    /// What a push of a notification is to the device that is registered.
    public func push(of id: Int64) -> PushMessage {
        self.state.withLock { state in
            guard let registration = state.registration, state.isShared else { return PushMessage(id: id) }
            return PushMessage(id: id, accountHint: PushClient.accountHint(of: id, registration: registration))
        }
    }

    // MARK: How it behaves

    /// What is between client and server.
    public enum Network: Sendable, Hashable {
        /// Nothing.
        case fine
        /// There is no network.
        case offline
        /// Requests are taken, and nothing comes back.
        case silent
        /// A page to sign in to comes back.
        case portal
        /// A byte of each answer is changed.
        case changed
        /// The answer to an earlier request comes back.
        case cached
        /// Answers end in the middle.
        case cut
    }

    /// What is between client and server from now on. Event streams that are open end with another
    /// network.
    public var network: Network {
        get { self.state.withLock { $0.network } }
        set {
            let wakes = self.state.withLock { state in
                defer { state.network = newValue }
                // What the device has lost itself nobody has cut.
                let code = newValue == .offline ? URLError.Code.notConnectedToInternet : .networkConnectionLost
                return state.network == newValue ? [] : state.streams.end(.ofNetwork(code))
            }
            for wake in wakes { wake() }
        }
    }

    /// Whether credentials are taken; if not, all calls are answered 401, and event streams end.
    public var takesCredentials: Bool {
        get { self.state.withLock { $0.takesCredentials } }
        set {
            let wakes = self.state.withLock { state in
                state.takesCredentials = newValue
                return newValue ? [] : state.streams.end(.byServer)
            }
            for wake in wakes { wake() }
        }
    }

    /// How many event streams clients hold open, as `PushClient.events(platform:silence:)` does.
    /// Each is told what is added.
    public var openStreams: Int { self.state.withLock { $0.streams.open.count } }

    /// Whether it answers 503 to everything.
    public var isBusy: Bool {
        get { self.state.withLock { $0.isBusy } }
        set { self.state.withLock { $0.isBusy = newValue } }
    }

    /// How far its clock is ahead of the device's.
    public var clockOffset: Duration {
        get { self.state.withLock { $0.clockOffset } }
        set { self.state.withLock { $0.clockOffset = newValue } }
    }

    /// The requests so far, as `GET /api/notifications`.
    public var requests: [String] { self.state.withLock { $0.requests } }

    func exchange(_ request: TestRequest) -> TestOutcome {
        let (answer, stream, network, offset) = self.state.withLock { state in
            state.requests.append("\(request.method) \(request.path)")
            guard ![.offline, .silent, .portal].contains(state.network) else {
                return (TestAnswer?.none, Int?.none, state.network, state.clockOffset)
            }
            let (answer, stream) =
                request.path == Paths.stream ? state.stream(request) : (state.answer(request), nil)
            return (answer, stream, state.network, state.clockOffset)
        }
        if let stream, let answer { return self.head(answer, of: stream, request, network) }
        switch (network, answer) {
        case (.silent, _): return .silence
        case (.portal, _): return .answer(TestAnswer(200, body: Array("<html>Welcome to our Wi-Fi</html>".utf8)))
        case (_, nil), (.offline, _): return .failure(.notConnectedToInternet)
        case (.cached, let answer?): return .answer(self.signed(answer, request.withToken("1"), offset))
        case (.cut, let answer?): return .cut(self.signed(answer, request, offset))
        case (.changed, let answer?):
            var signed = self.signed(answer, request, offset)
            if signed.body.isEmpty { signed.body = [0x20] } else { signed.body[signed.body.count / 2] ^= 1 }
            return .answer(signed)
        case (.fine, let answer?): return .answer(self.signed(answer, request, offset))
        }
    }

    /// The head of a stream, which is not signed. A stream that is changed has another first byte,
    /// and one that is cut none.
    private func head(
        _ answer: TestAnswer,
        of stream: Int,
        _ request: TestRequest,
        _ network: Network
    ) -> TestOutcome {
        var head = answer
        let token = network == .cached ? "1" : request.token
        head.fields["MyToken"] = (try? MyToken(text: token))?.echo
        head.fields["Cache-Control"] = "no-store"
        head.fields["Sealpost-Account"] = Self.account
        self.state.withLock { state in
            switch network {
            case .changed: state.streams.open[stream]?.pending[0] ^= 1
            case .cut: state.streams.open[stream]?.end = .ofNetwork(.networkConnectionLost)
            default: break
            }
        }
        return .stream(head, stream)
    }

    // MARK: Streams, from the side of the session

    func attach(_ stream: Int, _ wake: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.streams.open[stream]?.wake = wake }
    }

    func take(_ stream: Int) -> (bytes: [UInt8], end: TestStreamEnd?) {
        self.state.withLock { state in
            guard let open = state.streams.open[stream] else { return ([], nil) }
            state.streams.open[stream]?.pending = []
            return (open.pending, open.end)
        }
    }

    func detach(_ stream: Int) {
        self.state.withLock { _ = $0.streams.open.removeValue(forKey: stream) }
    }

    private func signed(_ answer: TestAnswer, _ request: TestRequest, _ offset: Duration) -> TestAnswer {
        var answer = answer
        answer.fields["MyToken"] = (try? MyToken(text: request.token))?.echo
        answer.fields["Cache-Control"] = "no-store"
        if answer.status != 304 { answer.fields["Content-Digest"] = ContentDigest.field(of: answer.body) }
        let now = Date() + TimeInterval(offset.components.seconds)
        // It refuses credentials only before it knows the account.
        answer.fields["Sealpost-Account"] = answer.status == 401 ? "none" : Self.account
        guard let asked = request.signature,
            let signature = try? ResponseSignature(
                status: answer.status,
                validator: answer.fields[answer.status == 304 ? "ETag" : "Content-Digest"] ?? "",
                account: answer.fields["Sealpost-Account"],
                request: request.signed,
                coverage: asked.coverage,
                label: asked.label,
                key: self.key,
                created: now
            )
        else { return answer }
        answer.fields["Signature-Input"] = signature.input
        answer.fields["Signature"] = signature.signature
        return answer
    }
}

/// So that a server ends with the test that made it.
struct Weak: Sendable {
    weak let server: TestServer?

    init(_ server: TestServer) { self.server = server }
}
