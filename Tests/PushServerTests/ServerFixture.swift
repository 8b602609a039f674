import Foundation
import HTTPTypes
import Logging
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

/// A server that opens no sockets, with its own store and the users in `roles`. All users have the
/// same password.
struct ServerFixture: Sendable {
    /// The password has characters that are easily misread: colons, blanks, and a letter outside
    /// ASCII.
    static let password = "pass: wörd: 123"
    /// A real hash of the password with the smallest possible parameters, because a check with the
    /// usual parameters takes long.
    static let passwordHash = PasswordHash(
        phc: "$argon2id$v=19$m=8,t=1,p=1$c2VhbHBvc3QtdGVzdGluZw$NYTYUry8ig4Rbly189AQQqu+5dCLc7aNovw1CUhckrI"
    )
    static let roles: [String: Role] = [
        "alice": .device, "bob": .device, "paul": .publisher, "vic": .viewer, "ada": .admin,
    ]

    /// The parameters of `passwordHash`. With other parameters, the first sign-in would hash the
    /// password again.
    static let parameters = PasswordParameters(memory: 8, passes: 1, lanes: 1)

    /// The number of event loops, each with its own caches. A request may name the loop that
    /// handles it.
    static let loops = 2

    let storage: StoreFixture
    let server: PushServer
    let authenticator: Authenticator
    let reports: ReportReader
    let lists: ListPool
    let signingKeys: SigningKeys
    let log = LogRecorder()
    let wakeUps = Counter()
    let requestLine = RequestLine()
    let lanes = LaneRecorder()
    let history = StatusHistory()
    let setup = SetupCode()
    let links: ProcessLinks

    /// With `storage`, the fixture is a second server on that store, and adds no users. If
    /// `parameters` is `nil`, passwords are hashed with the usual parameters.
    init(
        settings: ServerSettings = .forTests,
        keyring: String? = nil,
        storage: StoreFixture? = nil,
        parameters: PasswordParameters? = Self.parameters,
        quotas: [Role: Quota] = [:],
        servers: ServerCount = ServerCount(),
        issuer: Issuer? = nil,
        signingKeys: SigningKeys = SigningKeys(.random()),
        traces: RequestTraces = RequestTraces(),
        troubles: [String] = []
    ) async throws {
        let storage = if let storage { storage } else { try await Self.makeStorage(keyring) }
        try self.init(
            on: storage,
            settings: settings,
            parameters: parameters,
            quotas: quotas,
            servers: servers,
            issuer: issuer,
            signingKeys: signingKeys,
            traces: traces,
            troubles: troubles
        )
    }

    private init(
        on storage: StoreFixture,
        settings: ServerSettings = .forTests,
        parameters: PasswordParameters? = Self.parameters,
        quotas: [Role: Quota] = [:],
        servers: ServerCount = ServerCount(),
        issuer: Issuer? = nil,
        signingKeys: SigningKeys = SigningKeys(.random()),
        traces: RequestTraces = RequestTraces(),
        troubles: [String] = []
    ) throws {
        let (store, clock, log, wakeUps) = (storage.store, storage.clock, self.log, self.wakeUps)
        let lanes = self.lanes
        let logger = Logger(label: "test") { _ in log }
        self.storage = storage
        // All readers share one connection to the database. If each reader had a connection of its
        // own, opening the connections would take most of the time to start a fixture.
        let reader = storage.reader
        self.reports = ReportReader(reader)
        self.lists = ListPool([reader])
        self.authenticator = Authenticator(
            store: store,
            parameters: parameters ?? .usual,
            workers: 2,
            quotas: quotas,
            servers: servers,
            issuer: issuer,
            logger: logger
        )
        self.signingKeys = signingKeys
        self.links = ProcessLinks(traces: traces)
        self.links.workIsWaiting.onCall { wakeUps.increment() }
        var daemon = Daemon()
        daemon.version = "test"
        daemon.credentials = {
            let end = Date(timeIntervalSince1970: 2_000_000_000)
            return [CredentialExpiry(name: "senders.apns", expiresAt: end, lifetime: 518_400)]
        }
        daemon.pauses = { lanes.pauses }
        daemon.retry = { lanes.retry($0) }
        daemon.troubles = { troubles }
        (daemon.history, daemon.setup) = (self.history, self.setup)
        self.server = PushServer(
            ServerParts(
                StoreAccess(
                    store,
                    readers: Array(repeating: WaitingReads.reader(reader), count: Self.loops),
                    reports: self.reports,
                    lists: self.lists
                ),
                authenticator: self.authenticator,
                settings: settings,
                signer: AnswerSigner(keys: signingKeys, logger: logger, now: { clock.now }),
                links: self.links,
                daemon: daemon,
                logger: logger,
                now: { clock.now }
            )
        )
    }

    /// Makes a store with the users in `roles`.
    private static func makeStorage(_ keyring: String?) async throws -> StoreFixture {
        if keyring == nil, StoreKind.current.name == StoreKind.sqlite.name { return try await self.filled.value.copy() }
        let storage = try StoreFixture(keyring: keyring ?? Keyring.generateText(), options: .withEvents)
        for (name, role) in self.roles { try await storage.addUser(name, role: role, self.passwordHash) }
        return storage
    }

    /// The file of a store with the users in `roles`, and its keyring. A copy of the file takes
    /// less time than adding the users again.
    private struct Filled {
        let file: Data
        let keyring: String

        func copy() throws -> StoreFixture {
            let folder = try TemporaryFolder()
            try self.file.write(to: URL(fileURLWithPath: folder.file("test.db")))
            return try StoreFixture(in: folder, keyring: self.keyring, options: .withEvents)
        }
    }

    private static let filled = Task.detached {
        let keyring = Keyring.generateText()
        let storage = try await Self.makeStorage(keyring)
        await storage.store.close()
        return Filled(
            file: try Data(contentsOf: URL(fileURLWithPath: storage.folder.file("test.db"))),
            keyring: keyring
        )
    }

    /// The routes that every server has, for tests with a case for each route.
    static let routes: [Route] = {
        guard let fixture = try? ServerFixture(on: StoreFixture()) else {
            preconditionFailure("a server starts on a new database")
        }
        return fixture.server.routes.routes
    }()

    var clock: ManualClock { self.storage.clock }

    /// Sends a request, checks the fields that every answer must have, and returns the answer.
    ///
    /// `user` is one of the fixture's users; `nil` sends no credentials.
    @discardableResult
    func send(
        _ method: HTTPRequest.Method,
        _ target: String,
        user: String? = "alice",
        headers: [(String, String)] = [],
        body: String = "",
        loop: Int = 0,
        client: PeerAddress = .unknown,
        certificate: String? = nil,
        memory: ConnectionMemory = ConnectionMemory(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Response {
        try await self.send(
            method,
            target,
            user: user,
            headers: headers,
            bytes: Array(body.utf8),
            loop: loop,
            client: client,
            certificate: certificate,
            memory: memory,
            sourceLocation: sourceLocation
        )
    }

    /// Sends a request with a body that may not be text.
    func send(
        _ method: HTTPRequest.Method,
        _ target: String,
        user: String? = "alice",
        headers: [(String, String)] = [],
        bytes: [UInt8],
        loop: Int = 0,
        client: PeerAddress = .unknown,
        certificate: String? = nil,
        memory: ConnectionMemory = ConnectionMemory(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Response {
        var lines = ["\(method.rawValue) \(target) HTTP/1.1", "Host: sealpost.test"]
        if let user { lines.append("Authorization: \(Self.basic(user))") }
        lines += headers.map { name, value in "\(name): \(value)" }
        self.requestLine.record(method.rawValue, target)
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
        let head = try #require(RequestHead(text), "the server takes no such head", sourceLocation: sourceLocation)
        let request = Request(
            head: head,
            body: RequestBody(bytes),
            peer: client,
            loopIndex: loop,
            certificateName: certificate,
            memory: memory
        )
        let response = try await self.server.respond(to: request).response
        response.expectEnvelope(sourceLocation: sourceLocation)
        return response
    }

    /// Posts a notification in its full form and returns its path.
    func post(
        _ body: String,
        user: String = "paul",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let response = try await self.send(
            .post,
            Paths.notifications,
            user: user,
            body: body,
            sourceLocation: sourceLocation
        )
        #expect(response.status == .created, "\(response.text)", sourceLocation: sourceLocation)
        return try #require(response.fields[.location], sourceLocation: sourceLocation)
    }

    /// Requests a registration id and removes the quotes, as the clients of Microsoft's tutorial
    /// do.
    func requestRegistration(user: String = "alice", handle: String? = nil) async throws -> String {
        let query = handle.map { "?handle=\($0)" } ?? ""
        let response = try await self.send(.post, Paths.register + query, user: user)
        #expect(response.status == .ok)
        return String(response.text.dropFirst().dropLast())
    }

    /// Issues the given registration id to the user, unless it was issued before.
    func issue(_ id: String, to user: String = "alice") async throws {
        try await self.storage.issue(id, to: self.storage.user(user))
    }

    /// Returns the value of `Authorization` for Basic authentication.
    static func basic(_ user: String, password: String = Self.password) -> String {
        "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
    }
}

extension ServerSettings {
    /// Settings with the tutorial's platforms. A handle of WNS must be an HTTPS address.
    static let forTests = ServerSettings {
        // On a busy machine, a batch may take longer than the usual timeout.
        $0.batchTimeout = .seconds(60)
        $0.platforms = [
            Platform("apns"): .init(SampleHandleRule()), Platform("fcm"): .init(SampleHandleRule()),
            Platform("wns"): .init(SampleHandleRule { $0.hasPrefix("https://") ? nil : "it must be https" }),
        ]
        $0.events = .listed
    }

    /// A copy of `forTests` in which `member` has the value `value`.
    static func forTests<Value>(_ member: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var settings = Self.forTests
        settings[keyPath: member] = value
        return settings
    }
}

/// Accepts every handle, unless the test gives it a check (`flaw`) that finds a fault.
struct SampleHandleRule: HandleRule {
    let form: HandleForm
    let isGuessable: Bool
    private let part: String?
    private let flaw: @Sendable (String) -> String?

    init(
        _ form: HandleForm = .text,
        isGuessable: Bool = false,
        part: String? = nil,
        flaw: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.form = form
        self.isGuessable = isGuessable
        self.part = part
        self.flaw = flaw
    }

    func address(_ handle: String) throws(HandleFlaw) -> String {
        if let flaw = self.flaw(handle) { throw .malformed(flaw) }
        return handle
    }

    func part(at address: String) -> String? { self.part }
}

extension StoreFixture {
    /// Adds a user who can sign in.
    func addUser(_ name: String, role: Role, _ password: PasswordHash) async throws {
        let username = try #require(Username(name))
        #expect(try await self.store.addUser(username, role: role, password: password, now: self.now))
    }
}

/// The method and target of the last request, which some checks of its answer need.
final class RequestLine: Sendable {
    private let last = Mutex((method: "", target: ""))

    var method: String { self.last.withLock { $0.method } }
    var target: String { self.last.withLock { $0.target } }

    func record(_ method: String, _ target: String) {
        self.last.withLock { $0 = (method, target) }
    }
}
