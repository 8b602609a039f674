public import Foundation
public import HTTPSignatures
public import PushAPI
public import PushClient

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// A server in memory, for an app's own tests: it signs its answers like the real one, and can
/// simulate a bad network.
///
/// ```swift
/// let server = TestServer()
/// let id = server.add("Your result is in.")
/// let inbox = try await server.client().sync().value
/// server.network = .captivePortal
/// let cached = try await server.client(store: store).sync()  // cached, with its date
/// ```
/// Its event streams report the notifications that a test adds, so a test can also call
/// `PushClient.events(platform:silence:)`. The server has one account, and accepts all credentials
/// unless ``takesCredentials`` is false. Tests may run at the same time: each server has its own
/// address, which only sessions with its configuration reach.
public final class TestServer: Sendable {
    /// The server's address, which exists in this process only.
    public let url: URL
    /// The key that signs its answers.
    public let key: SigningKey
    private let state = Locked(TestServerState())
    /// The id of its only account.
    static let account = "dGhlIG9uZSBhY2NvdW50IQ"

    /// Creates a server without notifications.
    public init() {
        let host = "\(UUID().uuidString.lowercased()).test"
        self.key = SigningKey()
        // A name of letters, digits and hyphens is always valid as a URL's host.
        self.url = URL(string: "https://\(host)") ?? URL(fileURLWithPath: "/")
        TestServerProtocol.servers.withLock { $0[host] = Weak(self) }
    }

    deinit {
        _ = TestServerProtocol.servers.withLock { $0.removeValue(forKey: self.url.host ?? "") }
    }

    // MARK: Clients

    /// The configuration of sessions that reach the server.
    public var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [TestServerProtocol.self]
        return configuration
    }

    /// The options of clients that reach this server and trust only its key.
    public var options: PushClient.Options {
        PushClient.Options(signatures: .pinned([self.key.publicKey]), configuration: self.configuration)
    }

    /// Creates a client of the server.
    public func client(
        account: String = "alice",
        options: PushClient.Options? = nil,
        store: PushClient.Store = .memory
    ) -> PushClient {
        let credentials = PushClient.Credentials.token("spt_\(account)", account: account)
        return PushClient(server: self.url, credentials: credentials, options: options ?? self.options, store: store)
    }

    // MARK: Its notifications

    /// Adds a notification, as a sender would; returns its id.
    @discardableResult
    public func add(_ payload: JSONValue, isReadOnce: Bool = false, expiresAt: Date = .distantFuture) -> Int64 {
        let (id, wakes) = self.state.withLock { state in
            let id = state.add(payload, isReadOnce: isReadOnce, expiresAt: expiresAt)
            return (id, state.streams.announce(id))
        }
        for wake in wakes { wake() }
        return id
    }

    /// Adds a notification with a text; returns its id.
    @discardableResult
    public func add(_ text: String) -> Int64 { self.add(.string(text)) }

    /// Recalls a notification, as its sender would.
    public func recall(_ id: Int64) {
        self.state.withLock { $0.remove(id) }
    }

    /// The server's notifications, oldest first.
    public var notifications: [NotificationItem] { self.state.withLock { $0.items } }

    /// The push of a notification to the registered device.
    public func push(of id: Int64) -> PushMessage {
        self.state.withLock { state in
            guard let registration = state.registration, state.isShared else { return PushMessage(id: id) }
            return PushMessage(id: id, accountHint: PushClient.accountHint(of: id, registration: registration))
        }
    }

    // MARK: How it behaves

    /// The network between client and server.
    public enum Network: Sendable, Hashable {
        /// The network works.
        case fine
        /// There is no network.
        case offline
        /// Requests arrive, but no answer comes back.
        case silent
        /// A captive portal answers with its sign-in page.
        case captivePortal
        /// The network changes a byte of each answer.
        case changed
        /// The network returns the answer to an earlier request.
        case cached
        /// Answers end early.
        case cut
    }

    /// The network between client and server from now on. A change to another network ends open
    /// event streams.
    public var network: Network {
        get { self.state.withLock { $0.network } }
        set {
            let wakes = self.state.withLock { state in
                defer { state.network = newValue }
                // An end that the device itself has caused is not an interference.
                let code = newValue == .offline ? URLError.Code.notConnectedToInternet : .networkConnectionLost
                return state.network == newValue ? [] : state.streams.end(.ofNetwork(code))
            }
            for wake in wakes { wake() }
        }
    }

    /// Whether the server accepts credentials; if not, it answers 401 to all calls and ends event
    /// streams.
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

    /// The number of open event streams, such as those of `PushClient.events(platform:silence:)`.
    /// Each one reports added notifications.
    public var openStreams: Int { self.state.withLock { $0.streams.open.count } }

    /// Whether the server answers 503 to everything.
    public var isBusy: Bool {
        get { self.state.withLock { $0.isBusy } }
        set { self.state.withLock { $0.isBusy = newValue } }
    }

    /// How far the server's clock is ahead of the device's. Unless the offset is 0, the server
    /// signs no nonces, like earlier versions, so that the client compares the clocks.
    public var clockOffset: Duration {
        get { self.state.withLock { $0.clockOffset } }
        set { self.state.withLock { $0.clockOffset = newValue } }
    }

    /// The requests so far, such as `GET /api/notifications`.
    public var requests: [String] { self.state.withLock { $0.requests } }

    func exchange(_ request: TestRequest) -> TestOutcome {
        let (answer, stream, network, offset) = self.state.withLock { state in
            state.requests.append("\(request.method) \(request.path)")
            guard ![.offline, .silent, .captivePortal].contains(state.network) else {
                return (TestAnswer?.none, Int?.none, state.network, state.clockOffset)
            }
            let (answer, stream) =
                request.path == Paths.stream ? state.stream(request) : (state.answer(request), nil)
            return (answer, stream, state.network, state.clockOffset)
        }
        if let stream, let answer { return self.head(answer, of: stream, request, network) }
        switch (network, answer) {
        case (.silent, _): return .silence
        case (.captivePortal, _): return .answer(TestAnswer(200, body: Array("<html>Welcome to our Wi-Fi</html>".utf8)))
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

    /// Returns the head of a stream, without a signature. A network that changes answers changes
    /// the stream's first byte. A network that cuts answers ends the stream after the bytes that
    /// the client has not read yet.
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
        // A server that refuses the credentials does not know the account.
        answer.fields["Sealpost-Account"] = answer.status == 401 ? "none" : Self.account
        guard let asked = request.signature,
            let signature = try? ResponseSignature(
                status: answer.status,
                validator: answer.fields[answer.status == 304 ? "ETag" : "Content-Digest"] ?? "",
                account: answer.fields["Sealpost-Account"],
                // With a nonce the client ignores the clock.
                request: request.signed(nonce: offset == .zero ? asked.nonce : nil),
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

/// Weak, so that a server is released with the test that made it.
struct Weak: Sendable {
    weak let server: TestServer?

    init(_ server: TestServer) { self.server = server }
}
