import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct AuthorisationTests {
    /// For every route, the lowest role that may use it, and the scopes that a token needs; `nil`
    /// if any caller may use the route.
    static let least: [String: (role: Role, scopes: Scopes)?] = [
        "POST /api/register": (.device, .register), "GET /api/register": (.device, .register),
        "PUT /api/register/{id}": (.device, .register), "DELETE /api/register/{id}": (.device, .register),
        "POST /api/register/{id}/confirmation": (.device, .register),
        "GET /api/notifications": (.device, .fetch), "PATCH /api/notifications/{id}": (.device, .fetch),
        "POST /api/notifications/read": (.device, .fetch), "POST /api/notifications/{id}/taken": (.device, .fetch),
        "POST /api/notifications": (.device, .send), "POST /api/notifications/batch": (.device, .send),
        "GET /api/notifications/{id}": (.device, .fetch),
        "DELETE /api/notifications/{id}": (.device, .fetch), "GET /api/stream": (.device, .fetch),
        "GET /api/notifications/{id}/deliveries": (.publisher, .send), "GET /api/events": (.publisher, .send),
        "GET /api/notifications/{id}/recipients": (.publisher, .send), "GET /api/deliveries": (.admin, .manage),
        "GET /api/why/{id}": (.admin, .manage),
        "POST /api/devices/{id}/test": (.device, .send),
        "DELETE /api/notifications/{id}/deliveries/{device}": (.publisher, .send),
        "POST /api/notifications/{id}/deliveries/{device}": (.publisher, .send),
        "PUT /api/devices/{id}/topics/{topic}": (.device, .register),
        "DELETE /api/devices/{id}/topics/{topic}": (.device, .register),
        "PUT /api/devices/{id}/key": (.device, .register), "GET /api/keys": (.publisher, .send),
        "POST /api/sessions": (.device, []), "GET /api/sessions/current": (.device, []),
        "DELETE /api/sessions/current": (.device, []), "GET /api/status": (.admin, .manage),
        "POST /api/lanes/retry": (.admin, .manage), "GET /": nil, "GET /console": nil,
        "GET /console/": nil,
        "GET /console/{id}": nil, "POST /api/setup": nil,
        "POST /api/enrolment": nil, "POST /api/users/{id}/enrolment": (.publisher, .manage),
        "GET /api/users": (.admin, .manage), "GET /api/users/{id}": (.admin, .manage),
        "PUT /api/users/current/password": (.device, []),
        "POST /api/tokens": (.admin, .manage), "GET /api/tokens": (.admin, .manage),
        "DELETE /api/tokens/{id}": (.admin, .manage), "POST /api/users": (.admin, .manage),
        "PATCH /api/users/{id}": (.admin, .manage), "DELETE /api/users/{id}": (.admin, .manage),
        "GET /api/users/{id}/tags": (.publisher, .manage), "PUT /api/users/{id}/tags": (.publisher, .manage),
        "GET /api/webpush/key": (.device, .register), "GET /healthz": nil, "GET /.well-known/sealpost-keys": nil,
        "GET /readyz": nil, "GET /openapi.json": nil,
        "GET /api/devices": (.admin, .manage), "DELETE /api/devices/{id}": (.admin, .manage),
        "GET /metrics": (.admin, .manage), "GET /api/audit": (.admin, .manage),
    ]

    /// The routes that viewers may use even if `least` names a higher role. For a token of a
    /// viewer or an administrator, the given scope is enough.
    static let seeing: [String: Scopes] = [
        "GET /api/users": .view, "GET /api/users/{id}": .view, "GET /api/devices": .view, "GET /api/audit": .view,
        "GET /api/status": .view, "GET /api/events": .view, "GET /api/deliveries": .view,
        "GET /api/why/{id}": .view,
        "GET /api/notifications/{id}/deliveries": .view, "GET /api/notifications/{id}/recipients": .view,
        "GET /metrics": .metrics,
    ]

    /// Why the server answers with status 403.
    enum Refusal: Equatable {
        case role
        /// The token lacks some of these scopes, which the route needs.
        case scopes(Scopes)
    }

    static let users = ServerFixture.roles.keys.sorted()

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    @Test func everyRouteIsInTheTableAbove() {
        let routes = ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" }
        #expect(Set(routes) == Set(Self.least.keys))
        #expect(Set(routes).count == routes.count)
    }

    @Test(arguments: users)
    func aRouteIsOpenToItsRoleAndHigherRoles(user: String) async throws {
        for route in Self.least.keys.sorted() {
            let status = try await self.send(route, user: user).status.code
            let refusal = try Self.refusal(of: route, to: #require(ServerFixture.roles[user]), nil)
            #expect((status == 403) == (refusal != nil), "\(route): \(status)")
            #expect(status != 401, "\(route)")
        }
    }

    @Test(arguments: users, (Array(UInt8(0)...15) + [16, 32, 48, 63]).map(Scopes.init(rawValue:)))
    func aTokenAllowsItsScopesWithinItsUsersRole(user: String, tokens: Scopes) async throws {
        let role = try #require(ServerFixture.roles[user])
        // The token may have scopes that the user's role does not allow. Such tokens exist if the
        // user had a higher role when the token was created.
        let token = try await self.fixture.storage.store.addToken(
            for: #require(Username(user)),
            scopes: tokens,
            expiresAt: .distantFuture,
            now: self.fixture.clock.now
        )
        let headers = [("Authorization", "Bearer \(try #require(token).text.exposed)")]
        // This route comes last, because it ends the session of the token that the test uses.
        let ending = "DELETE /api/sessions/current"
        for route in Self.least.keys.filter({ $0 != ending }) + [ending] {
            let response = try await self.send(route, user: nil, headers: headers)
            let refusal = try Self.refusal(of: route, to: role, tokens)
            // A token cannot begin a session, whatever its scopes are: only a password can.
            let isOpen = refusal == nil && route != "POST /api/sessions"
            #expect((response.status.code == 403) == !isOpen, "\(route): \(response.status)")
            #expect(response.status.code != 401, "\(route)")
            if case .scopes(let scopes)? = refusal {
                try response.expectProblem(.insufficientScope, scopes.description)
                let challenge = #"Bearer realm="sealpost", error="insufficient_scope", scope="\#(scopes)""#
                #expect(response.fields.lines.filter { $0.name == .wwwAuthenticate }.map(\.value) == [challenge])
            }
        }
    }

    /// Apart from the metrics, the token may use only routes that need no scope. Such routes
    /// concern only the token itself and its user.
    @Test(arguments: ["vic", "ada"])
    func aTokenForMetricsReadsTheMetricsAndNothingElse(user: String) async throws {
        let token = try await self.fixture.storage.store.addToken(
            for: #require(Username(user)),
            scopes: .metrics,
            expiresAt: .distantFuture,
            now: self.fixture.clock.now
        )
        let headers = [("Authorization", "Bearer \(try #require(token).text.exposed)")]
        var open: Set<String> = []
        for (route, least) in Self.least where least != nil && route != "DELETE /api/sessions/current" {
            if try await self.send(route, user: nil, headers: headers).status != .forbidden { open.insert(route) }
        }
        #expect(open == ["GET /metrics", "GET /api/sessions/current", "PUT /api/users/current/password"])
    }

    /// `AccessMatrixTests` tests a viewer's changes of its own devices and notifications.
    @Test func aViewerMakesNoChangeThatADeviceMayNotMake() throws {
        for route in Self.least.keys where !route.hasPrefix("GET ") {
            #expect(
                try Self.refusal(of: route, to: .viewer, nil) == Self.refusal(of: route, to: .device, nil),
                "\(route)"
            )
        }
    }

    @Test(arguments: ["device", "viewer"])
    func aRoleThatDoesNotSendSeesNoPayloadOfOthers(role: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":"canary-5a1e","To":["username:bob"]}"#)
        let bob = try await self.fixture.storage.user("bob")
        _ = try await self.fixture.storage.addDevice(of: bob, handle: "Qq-handle-of-bob-Zz")
        let user = role == "viewer" ? "vic" : "alice"
        let id = path.split(separator: "/").last.map(String.init) ?? ""
        for route in Self.least.keys where route.hasPrefix("GET ") && route != "GET /api/stream" {
            let target = String(route.dropFirst(4)).replacing("{id}", with: route.contains("users") ? "bob" : id)
            let text = try await self.fixture.send(.get, target, user: user).text
            for secret in ["canary-5a1e", "Qq-h", "b-Zz"] { #expect(!text.contains(secret), "\(route)") }
        }
    }

    @Test(arguments: least.keys.sorted())
    func aRouteRequiresCredentialsUnlessItIsOpen(route: String) async throws {
        let status = try await self.send(route, user: nil).status.code
        #expect((status == 401) == (try #require(Self.least[route]) != nil), "\(status)")
    }

    @Test func aForbiddenCallerIsRefusedBeforeItsBodyIsParsed() async throws {
        for user in ["alice", "paul"] {
            try await self.fixture.send(.post, "/api/users", user: user, body: "{").expectProblem(.forbidden)
        }
    }

    // MARK: To whom

    @Test(arguments: [
        #"["username:bob"]"#, #"["username:alice","username:bob"]"#, #"["news"]"#, #"["!news"]"#,
        #"["username:alice || username:bob"]"#, #"["username:alice && news"]"#, #"["!username:bob"]"#,
        #"["username:alice2"]"#, #"["username:"]"#, #"["username:alice:x"]"#, #"["from:alice"]"#,
    ])
    func aDeviceSendsOnlyToItsOwnUser(to: String) async throws {
        let body = #"{"Payload":1,"To":\#(to)}"#
        let response = try await self.fixture.send(.post, "/api/notifications", body: body)
        try response.expectProblem(.forbidden, "its own user")
        #expect(self.fixture.wakeUps.count == 0)
    }

    @Test(arguments: ["bob", "BOB", "nobody"])
    func aDeviceSendsOnlyToItsOwnUserInTheShortForm(user: String) async throws {
        let target = "/api/notifications?pns=apns&to_tag=\(user)"
        try await self.fixture.send(.post, target, body: #""hello""#).expectProblem(.forbidden)
    }

    @Test(arguments: [#"["username:alice"]"#, #"["USERNAME:Alice","username:alice"]"#, #"["(username:alice)"]"#])
    func aDeviceSendsToItself(to: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":\#(to)}"#, user: "alice")
        #expect(try await self.fixture.send(.get, path).status == .ok)
    }

    @Test(arguments: ["paul", "ada"], [#"["username:bob"]"#, #"["news && !beta","username:bob"]"#])
    func aPublisherAndAnAdministratorSendToAnybody(sender: String, to: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":\#(to)}"#, user: sender)
        #expect(try await self.fixture.send(.get, path, user: "bob").status == .ok)
        #expect(try await self.fixture.send(.get, path, user: "alice").status == .notFound)
    }

    // MARK: Ownership

    @Test(arguments: ["bob", "ada", "paul"])
    func foreignAndMissingNotificationsGetTheSameBytes(user: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":"alice's"}"#, user: "alice")
        let headers = [("X-Request-Id", "same"), ("MyToken", "1")]
        let foreign = try await self.fixture.send(.get, path, user: user, headers: headers)
        let missing = try await self.fixture.send(.get, path + "1", user: user, headers: headers)
        try foreign.expectProblem(.notFound)
        #expect(foreign.body == missing.body)
        #expect(foreign.fields == missing.fields)
        let conditional = headers + [("If-None-Match", "*")]
        #expect(try await self.fixture.send(.get, path, user: user, headers: conditional).body == missing.body)
    }

    @Test func aPublisherReadsItsOwnNotifications() async throws {
        let path = try await self.fixture.post(#"{"Payload":"news","To":["username:bob"]}"#)
        #expect(try await self.fixture.send(.get, path, user: "paul").json["Payload"] == .string("news"))
        #expect(try await self.fixture.send(.get, path, user: "ada").status == .notFound)
    }

    // MARK: - Private

    /// Returns why the tables `least` and `seeing` refuse the caller; `nil` if they allow the
    /// route to the caller. `scopes` is `nil` for a caller with a password.
    static func refusal(of route: String, to role: Role, _ scopes: Scopes?) throws -> Refusal? {
        guard let least = try #require(Self.least[route]) else { return nil }
        let seeing = [.viewer, .admin].contains(role) ? Self.seeing[route] : nil
        if let seeing, scopes?.isSuperset(of: seeing) ?? true { return nil }
        let isHigh = role == .admin || role == least.role || least.role == .device
        guard isHigh || seeing != nil else { return .role }
        let required = isHigh ? least.scopes : seeing ?? []
        return scopes?.isSuperset(of: required) ?? true ? nil : .scopes(required)
    }

    private func send(_ route: String, user: String?, headers: [(String, String)] = []) async throws -> Response {
        let words = route.filled(with: "1").split(separator: " ").map(String.init)
        let method = try #require(HTTPRequest.Method(words[0]))
        return try await self.fixture.send(method, words[1], user: user, headers: headers)
    }
}

@Suite(.timeLimit(.minutes(5))) struct RoutingTests {
    @Test(arguments: [
        ("/api/register", "POST, GET, HEAD"), ("/api/register/x", "PUT, DELETE"),
        ("/api/register/x/confirmation", "POST"), ("/api/notifications", "POST, GET, HEAD"),
        ("/api/notifications/1", "GET, HEAD, PATCH, DELETE"),
        ("/api/notifications/read", "POST"), ("/api/notifications/batch", "POST"),
        ("/api/notifications/1/taken", "POST"), ("/api/users", "POST, GET, HEAD"),
        ("/api/users/current/password", "PUT"), ("/api/sessions", "POST"),
        ("/api/sessions/current", "GET, HEAD, DELETE"), ("/api/tokens", "POST, GET, HEAD"), ("/api/tokens/x", "DELETE"),
        ("/api/devices", "GET, HEAD"), ("/api/devices/x", "DELETE"),
        ("/api/devices/x/topics/y", "PUT, DELETE"), ("/api/devices/x/test", "POST"),
        ("/api/devices/x/key", "PUT"), ("/api/keys", "GET, HEAD"),
        ("/api/devices/x/topics/%23y", "PUT, DELETE"), ("/API/Notifications/1", "GET, HEAD, PATCH, DELETE"),
        ("/healthz", "GET, HEAD"),
    ])
    func anUnknownMethodGetsTheAllowedMethods(path: String, allowed: String) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.trace, path, headers: [("X-Request-Id", "one")])
        try response.expectProblem(.methodNotAllowed)
        #expect(response.fields[.allow] == allowed)
        #expect(try response.problem.instance == "one")
        try await fixture.send(.options, path).expectProblem(.methodNotAllowed)
    }

    @Test(arguments: ["/api/Register", "/API/REGISTER", "/Api/register?x=1", "/api/Notifications"])
    func theTutorialsPathsAreReadInAnyCase(target: String) async throws {
        #expect(try await ServerFixture().send(.get, target).status == .ok)
    }

    /// Proxies compare paths case-sensitively. If the server accepted `/CONSOLE/`, a client could
    /// bypass a proxy's rule for `/console/`.
    @Test(arguments: Set(ServerFixture.routes.map(\.path)).subtracting(Route.tutorialPaths).sorted())
    func pathsOutsideTheTutorialAreCaseSensitive(path: String) async throws {
        let fixture = try await ServerFixture()
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        for place in parts.indices where !parts[place].isEmpty && !parts[place].hasPrefix("{") {
            for spelling in [parts[place].uppercased(), parts[place].capitalized] {
                var parts = parts
                parts[place] = spelling
                let target = parts.map { $0.hasPrefix("{") ? "1" : $0 }.joined(separator: "/")
                for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete] {
                    try await fixture.send(method, target, user: "ada").expectProblem(.notFound)
                }
            }
        }
    }

    @Test(arguments: [
        "/api", "/api/", "/api/register/", "/api/notifications/", "/api/notifications/1/", "/apis/register",
        "//api/register", "/api//register", "/api/register/a/b", "/api/notification/1", "/%61pi/nothing",
        "/api/devices/x/topics", "/api/devices/x/topics/", "/api/devices//topics/y", "/api/devices/x/topics/y/",
        "/api/devices/x/topics/y/z", "/api/devices/x/y/topics/z", "/api/devices/x/topicsy", "/api/devices/topics/y",
    ])
    func anUnknownPathIsNotFound(target: String) async throws {
        try await ServerFixture().send(.get, target).expectProblem(.notFound)
    }

    @Test func headIsAnsweredAsGet() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#, user: "alice")
        let id = [("X-Request-Id", "same")]
        let get = try await fixture.send(.get, path, headers: id)
        let head = try await fixture.send(.head, path, headers: id)
        #expect(head.status == get.status)
        #expect(head.fields == get.fields)
    }
}

@Suite(.timeLimit(.minutes(5))) struct HealthTests {
    @Test func healthzAnswersAlive() async throws {
        let response = try await ServerFixture(troubles: ["x"]).send(.get, "/healthz", user: nil)
        #expect(response.text == #"{"Status":"alive"}"#)
    }

    @Test func readyzAnswersReady() async throws {
        let response = try await ServerFixture().send(.get, "/readyz", user: nil)
        #expect(response.text == #"{"Status":"ready"}"#)
    }

    @Test func readyzReportsTheReasonsAndARetryDelay() async throws {
        let fixture = try await ServerFixture(troubles: ["the disk is full", "storage failed"])
        let response = try await fixture.send(.get, "/readyz", user: nil)
        try response.expectProblem(.busy, "the disk is full; storage failed")
        #expect(response.fields[.retryAfter] == "1")
    }

    /// A request to such a server gets the same code.
    @Test func readyzHasACodeForADatabaseThatNeedsAnOperator() {
        let problem = HealthHandler.problem(["the database's file is damaged"], isUnusable: true)
        #expect(problem?.code == .databaseUnusable && problem?.detail == "the database's file is damaged")
        #expect(HealthHandler.problem([], isUnusable: true) == nil)
    }
}
