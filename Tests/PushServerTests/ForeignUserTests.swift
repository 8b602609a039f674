import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Every route that a publisher may call, for users outside of the publisher's apps. The answers
/// are the same as for a user name that does not exist.
@Suite(.timeLimit(.minutes(5))) struct ForeignUserTests {
    /// A request that names another user. `NAME` stands for the name of this user.
    private struct Naming: Sendable {
        var query = ""
        var body = ""
    }

    /// Every route that a publisher may call, with its requests that name another user. Requests
    /// of most routes name no user.
    private static let namings: [String: [Naming]] = {
        let orders = [
            #""To":["username:NAME"]"#, #""To":["username:paul","username:NAME"]"#,
            #""To":["username:NAME"],"ReadOnce":true"#,
            #""App":"default","To":["username:NAME"]"#,
        ].map { #"{"Payload":1,\#($0)}"# }
        let naming: [String: [Naming]] = [
            "POST /api/notifications": orders.map { Naming(body: $0) } + [
                Naming(query: "?to_tag=NAME", body: #""text""#),
                Naming(query: "?to_tag=NAME&pns=apns", body: #""text""#),
            ],
            "POST /api/notifications/batch": orders.map { Naming(body: #"{"Notifications":[\#($0)]}"#) },
            "GET /api/keys": [Naming(query: "?to=username:NAME")],
            "GET /api/users/{id}/tags": [Naming()],
            "PUT /api/users/{id}/tags": [Naming(body: #"{"Tags":[]}"#), Naming(body: #"{"Tags":["role:nurse"]}"#)],
            "POST /api/users/{id}/enrolment": [Naming(), Naming(body: #"{"Scopes":["fetch"]}"#)],
        ]
        let none = [
            "POST /api/register", "GET /api/register", "PUT /api/register/{id}", "DELETE /api/register/{id}",
            "POST /api/register/{id}/confirmation", "GET /api/notifications", "GET /api/notifications/{id}",
            "PATCH /api/notifications/{id}", "POST /api/notifications/{id}/taken", "POST /api/notifications/read",
            "DELETE /api/notifications/{id}", "GET /api/notifications/{id}/deliveries",
            "GET /api/notifications/{id}/recipients",
            "DELETE /api/notifications/{id}/deliveries/{device}", "POST /api/notifications/{id}/deliveries/{device}",
            "GET /api/events", "PUT /api/devices/{id}/topics/{topic}", "DELETE /api/devices/{id}/topics/{topic}",
            "PUT /api/devices/{id}/key",
            "POST /api/devices/{id}/test", "GET /api/stream", "POST /api/sessions", "GET /api/sessions/current",
            "DELETE /api/sessions/current", "PUT /api/users/current/password", "POST /api/enrolment",
            "GET /api/webpush/key", "GET /healthz", "GET /.well-known/sealpost-keys", "GET /readyz",
            "GET /openapi.json", "POST /api/setup", "GET /", "GET /console", "GET /console/", "GET /console/{id}",
        ]
        return naming.merging(none.map { ($0, []) }) { first, _ in first }
    }()

    private static let namingRoutes = namings.filter { !$0.value.isEmpty }.keys.sorted()
    private static let bank = AppName("bank") ?? .usual

    private let fixture: ServerFixture

    /// Vera, Tess and Boss belong only to the bank, Dual belongs to both apps, and Dora, like
    /// Paul, only to the default app.
    init() async throws {
        self.fixture = try await ServerFixture()
        let (storage, none) = (self.fixture.storage, PasswordHash.none(.usual))
        for (name, role, apps) in [
            ("vera", Role.device, [Self.bank]), ("tess", .publisher, [Self.bank]), ("boss", .admin, [Self.bank]),
            ("dual", .device, [Self.bank, .usual]), ("dora", .device, [.usual]),
        ] {
            try await storage.addUser(name, role: role, none)
            _ = try await storage.store.changeUser(#require(Username(name)), apps: Set(apps), now: storage.now)
        }
    }

    private func ask(_ route: String, _ naming: Naming, about name: String, by caller: String) async throws -> Response
    {
        let words = route.split(separator: " ").map(String.init)
        let path = (words[1] + naming.query).replacing("{id}", with: name).replacing("NAME", with: name)
        return try await self.fixture.send(
            try #require(HTTPRequest.Method(words[0])),
            path,
            user: caller,
            headers: [("X-Request-Id", "same"), ("MyToken", "7")],
            body: naming.body.replacing("NAME", with: name)
        )
    }

    @Test func everyRouteThatAPublisherMayCallIsInTheTable() {
        let open = ServerFixture.routes.filter { route in
            switch route.access {
            case .anybody: true
            case .atLeast(let role, _, _): Role.publisher.includes(role)
            }
        }
        #expect(Set(open.map { "\($0.method.rawValue) \($0.path)" }) == Set(Self.namings.keys))
    }

    @Test(arguments: namingRoutes, ["vera", "tess", "boss"])
    func aUserOfAnotherAppIsAnsweredLikeAnUnknownName(route: String, name: String) async throws {
        for naming in try #require(Self.namings[route]) {
            let missing = try await self.ask(route, naming, about: "nora", by: "paul")
            let foreign = try await self.ask(route, naming, about: name, by: "paul")
            #expect(foreign.status == missing.status, "\(naming)")
            #expect(foreign.text.replacing(name, with: "nora") == missing.text, "\(naming)")
            #expect(foreign.fields == missing.fields, "\(naming)")
            #expect(
                !(200..<300).contains(missing.status.code) || route.hasSuffix("/batch"),
                "\(naming): \(missing.text)"
            )
        }
    }

    private static let managing = namingRoutes.filter { $0.contains("/users/{id}/") }

    /// If a publisher could set tags or create enrolment codes for any user, the publisher could
    /// affect the user's other apps, or get the rights of a higher role.
    @Test(arguments: managing, ["dual", "paul", "ada"])
    func aPublisherManagesOnlyDeviceUsersWithinItsApps(route: String, name: String) async throws {
        for naming in try #require(Self.namings[route]) {
            try await self.ask(route, naming, about: name, by: "paul").expectProblem(
                .forbidden,
                "if it has all of their apps"
            )
        }
    }

    @Test(arguments: managing)
    func aPublisherManagesItsUsersAndAnAdministratorAllUsers(route: String) async throws {
        for naming in try #require(Self.namings[route]) {
            for (name, caller) in [("dora", "paul"), ("vera", "ada"), ("dual", "ada"), ("paul", "ada"), ("ada", "ada")]
            {
                let answer = try await self.ask(route, naming, about: name, by: caller)
                #expect((200..<300).contains(answer.status.code), "\(name): \(answer.text)")
            }
        }
    }
}
