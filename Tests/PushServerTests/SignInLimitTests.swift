import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The limiter of failed sign-ins, tested with HTTP requests.
@Suite(.timeLimit(.minutes(5))) struct SignInLimitTests {
    /// The kinds of wrong credentials. `number` makes the credentials of each attempt different.
    enum Kind: String, CaseIterable, Sendable {
        case password, nobodysPassword, malformed, token, almostToken, certificate

        func headers(_ number: Int) -> [(String, String)] {
            switch self {
            case .password: [("Authorization", ServerFixture.basic("alice", password: "wrong \(number)"))]
            case .nobodysPassword: [("Authorization", ServerFixture.basic("nobody", password: "wrong \(number)"))]
            case .malformed: [("Authorization", "Basic \(number)")]
            case .token: [("Authorization", "Bearer \(BearerToken.random().text.exposed)")]
            case .almostToken: [("Authorization", "Bearer \(number)")]
            case .certificate: []
            }
        }

        var certificate: String? { self == .certificate ? "nobody" : nil }
    }

    private let fixture: ServerFixture
    private let guesser: PeerAddress
    private let phone: PeerAddress

    init() async throws {
        self.fixture = try await ServerFixture()
        self.guesser = .ip(try #require(IPAddress("203.0.113.7")))
        self.phone = .ip(try #require(IPAddress("198.51.100.1")))
    }

    private func send(
        _ kind: Kind,
        _ number: Int,
        to route: (method: HTTPRequest.Method, target: String) = (.get, "/api/register"),
        from client: PeerAddress? = nil
    ) async throws -> Response {
        try await self.fixture.send(
            route.method,
            route.target,
            user: nil,
            headers: kind.headers(number) + [("X-Request-Id", "same")],
            client: client ?? self.guesser,
            certificate: kind.certificate
        )
    }

    private func signIn(_ user: String = "alice", from client: PeerAddress?) async throws -> Int {
        if let name = Username(user) { self.fixture.authenticator.accountChanged(name) }
        return try await self.fixture.send(.get, "/api/register", user: user, client: client ?? .unknown).status.code
    }

    /// Sends wrong credentials until the limiter refuses them. Returns the refusal.
    private func exhaust(
        _ kind: Kind,
        to route: (method: HTTPRequest.Method, target: String) = (.get, "/api/register"),
        from client: PeerAddress? = nil
    ) async throws -> Response {
        for number in 0..<100 {
            let response = try await self.send(kind, number, to: route, from: client)
            if response.status != .unauthorized { return response }
            #expect(response.fields[.wwwAuthenticate] != nil)
        }
        throw NeverRefused()
    }

    private struct NeverRefused: Error {}

    private func expectRefusal(_ response: Response, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try response.expectProblem(.tooManyAttempts, sourceLocation: sourceLocation)
        #expect(response.fields[.wwwAuthenticate] == nil, sourceLocation: sourceLocation)
        let seconds = try #require(response.fields[.retryAfter].flatMap { Int($0) }, sourceLocation: sourceLocation)
        #expect((1...900).contains(seconds), sourceLocation: sourceLocation)
    }

    // MARK: Everywhere

    /// Every route that needs credentials, a path without a route, and methods that a path does
    /// not support.
    static let targets: [String] =
        ServerFixture.routes.filter { $0.access != .anybody }.map { "\($0.method.rawValue) \($0.path)" }
        + ["GET /api/nothing", "GET /api", "DELETE /api/notifications", "OPTIONS /api/register", "PUT /metrics"]

    private static func route(_ target: String) throws -> (method: HTTPRequest.Method, target: String) {
        let words = target.filled(with: "1").split(separator: " ").map(String.init)
        return (try #require(HTTPRequest.Method(words[0])), words[1])
    }

    @Test(arguments: Kind.allCases)
    func everyRouteThatTakesCredentialsIsBehindTheLimiter(kind: Kind) async throws {
        // All routes share one limiter: after requests to one route have exhausted it, it admits
        // no attempt on any other route.
        try self.expectRefusal(try await self.exhaust(kind))
        for (number, target) in Self.targets.enumerated() {
            let route = try Self.route(target)
            try self.expectRefusal(try await self.send(kind, 1000, to: route))
            let phone = PeerAddress.ip(try #require(IPAddress("198.51.100.\(number)")))
            #expect(try await self.send(kind, 1000, to: route, from: phone).status == .unauthorized, "\(target)")
        }
    }

    @Test(arguments: targets)
    func failuresOnEveryRouteAreCounted(target: String) async throws {
        let route = try Self.route(target)
        for kind in [Kind.password, .token] { try self.expectRefusal(try await self.exhaust(kind, to: route)) }
    }

    @Test func openRoutesAreNotThrottled() async throws {
        for kind in Kind.allCases {
            _ = try await self.exhaust(kind)
            for target in ["/healthz", "/readyz", "/nothing"] {
                #expect(try await self.send(kind, 0, to: (.get, target)).status != .tooManyRequests)
            }
        }
    }

    @Test func requestsWithoutCredentialsAreNotThrottled() async throws {
        _ = try await self.exhaust(.password)
        for _ in 0..<200 {
            let response = try await self.fixture.send(.get, "/api/register", user: nil, client: self.guesser)
            #expect(response.status == .unauthorized)
        }
    }

    // MARK: Answers to a guesser

    @Test func knownAndUnknownNamesAreRefusedAlike() async throws {
        var answers: [[Response]] = []
        for kind in [Kind.password, .nobodysPassword] {
            var responses: [Response] = []
            for number in 0..<12 { responses.append(try await self.send(kind, number)) }
            answers.append(responses)
        }
        #expect(answers[0].map(\.status) == answers[1].map(\.status))
        #expect(answers[0].map(\.body) == answers[1].map(\.body))
        #expect(answers[0].map(\.fields) == answers[1].map(\.fields))
        #expect(answers[0].map(\.status.code) == [Int](repeating: 401, count: 6) + [Int](repeating: 429, count: 6))
    }

    @Test func theRightPasswordIsRefusedDuringTheDelayAndAcceptedAfter() async throws {
        let refusal = try await self.exhaust(.password)
        #expect(refusal.fields[.retryAfter] == "1")
        #expect(try await self.signIn(from: self.guesser) == 429)
        self.fixture.clock.advance(by: 1)
        #expect(try await self.signIn(from: self.guesser) == 200)
        #expect(try await self.send(.password, 1).status == .unauthorized, "a success clears the pair")
    }

    @Test func aNewPasswordEndsTheWait() async throws {
        _ = try await self.exhaust(.password)
        #expect(try await self.signIn(from: self.guesser) == 429)
        let body = #"{"Password":"\#(ServerFixture.password)"}"#
        _ = try await self.fixture.send(.patch, Paths.user("alice"), user: "ada", body: body)
        #expect(try await self.signIn(from: self.guesser) == 200)
    }

    @Test func aGuessFromAnotherAddressFindsNoCacheEntry() async throws {
        for _ in 0..<2 { #expect(try await self.fixture.send(.get, Paths.register, client: self.phone).status == .ok) }
        _ = try await self.exhaust(.password)
        let guess = try await self.fixture.send(.get, Paths.register, client: self.guesser)
        try self.expectRefusal(guess)
        #expect(try await self.fixture.send(.get, Paths.register, client: self.phone).status == .ok, "the owner")
    }

    @Test func aGuesserAtTheOwnersAddressHasAHundredTries() async throws {
        func signIn() async throws -> Response {
            try await self.fixture.send(.get, Paths.register, client: self.phone)
        }
        #expect(try await signIn().status == .ok)
        for number in 0..<106 { _ = try await self.send(.password, number, from: self.phone) }
        #expect(try await signIn().status == .ok)
        _ = try await self.send(.password, 106, from: self.phone)
        try self.expectRefusal(try await signIn())
        self.fixture.clock.advance(by: 900)
        #expect(try await signIn().status == .ok)
    }

    @Test(arguments: [("2001:db8:1:%x::1", 21), ("2001:db8:1:1%02x::1", 11)])
    func manySubnetsOfOneNetworkAreThrottledTogether(form: String, free: Int) async throws {
        var statuses: [Int] = []
        for number in 0..<45 {
            // With the first value of `form`, each attempt comes from a different /56 network.
            let address = String(format: form, form.contains("%02x") ? number : number << 8)
            let client = PeerAddress.ip(try #require(IPAddress(address))).origin
            statuses.append(try await self.send(.password, number, from: client).status.code)
        }
        let waits = [Int](repeating: 429, count: statuses.count - free)
        #expect(statuses == [Int](repeating: 401, count: free) + waits)
    }

    // MARK: Callers that are not slowed

    @Test func aNeighbourDoesNotLockOutAKnownUser() async throws {
        #expect(try await self.signIn(from: self.phone) == 200)
        for number in 0..<9 { _ = try await self.send(.password, number, from: self.phone) }
        #expect(try await self.signIn(from: self.phone) == 200)
        #expect(try await self.send(.password, 9, from: self.phone).status == .unauthorized)
    }

    @Test func aGuesserDelaysNeitherTheOwnerNorItsNeighbours() async throws {
        _ = try await self.exhaust(.password)
        #expect(try await self.signIn(from: self.phone) == 200)
        #expect(try await self.signIn("bob", from: self.guesser) == 200)
        #expect(try await self.signIn("bob", from: nil) == 200)
    }

    @Test func cachedPasswordsAndValidTokensAreNeverThrottled() async throws {
        #expect(try await self.signIn(from: self.guesser) == 200)
        let session = try await self.fixture.send(.post, "/api/sessions", client: self.guesser)
        let token = try #require(try session.json["Token"]?.text)
        for kind in Kind.allCases { _ = try await self.exhaust(kind) }
        for _ in 0..<100 {
            let password = try await self.fixture.send(.get, "/api/register", client: self.guesser)
            #expect(password.status == .ok)
        }
        for loop in 0..<2 {
            self.fixture.authenticator.accountChanged(try #require(Username("alice")))
            let response = try await self.fixture.send(
                .get,
                "/api/register",
                user: nil,
                headers: [("Authorization", "Bearer \(token)")],
                loop: loop,
                client: self.guesser
            )
            #expect(response.status == .ok)
        }
        let certificate = try await self.fixture.send(
            .get,
            "/api/register",
            user: nil,
            client: self.guesser,
            certificate: "bob"
        )
        #expect(certificate.status == .ok)
    }

    @Test func aBurstOfOnePhoneIsOneAttempt() async throws {
        let statuses = try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for number in 0..<60 {
                group.addTask {
                    try await self.fixture.send(.get, "/api/register", loop: number % 2, client: self.phone).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == .ok })
    }

    @Test func onlyTheFirstGuessesOfABurstAreVerified() async throws {
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 {
                group.addTask { try await self.send(.password, number).status.code }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [401: 6, 429: 54])
    }

    @Test func tokensOverAUnixSocketAreNotCounted() async throws {
        for number in 0..<200 {
            for kind in [Kind.token, .almostToken, .certificate, .malformed] {
                #expect(try await self.send(kind, number, from: .unix).status == .unauthorized)
            }
        }
    }

    // MARK: Metrics and logs

    @Test func outcomesAreCountedAndAFloodLogsFewLines() async throws {
        _ = try await self.exhaust(.password)
        for number in 0..<1000 { _ = try await self.send(.password, number) }
        #expect(try await self.signIn("ada", from: self.phone) == 200)
        let metrics = try await self.fixture.send(.get, "/metrics", user: "ada", client: self.phone).text
        for line in [
            #"sealpost_sign_ins_total{outcome="wrong"} 6"#, #"sealpost_sign_ins_total{outcome="throttled"} 1001"#,
            #"sealpost_sign_ins_total{outcome="right"} 1"#, #"sealpost_sign_ins_total{outcome="busy"} 0"#,
        ] {
            #expect(metrics.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        let lines = { self.fixture.log.lines.filter { $0.contains("sign-ins failed") } }
        #expect(lines().count == 1)
        self.fixture.clock.advance(by: 10)
        _ = try await self.send(.password, 0)
        #expect(lines().count == 2)
        #expect(lines().allSatisfy { $0.hasPrefix("notice") && $0.contains("203.0.113.7") && !$0.contains("alice") })
        #expect(lines().last?.contains("1001") == true, "\(lines())")
    }
}
