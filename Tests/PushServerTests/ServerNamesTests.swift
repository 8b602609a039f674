import HTTPTypes
import PushAPI
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Requests whose host name is not one of the server's names. A hostile page can send such
/// requests if its own host name resolves to the server's address.
@Suite(.timeLimit(.minutes(5))) struct ServerNamesTests {
    private static let names: Set = ["push.example.com", "[2001:db8::1]", "192.0.2.1"]

    private func answer(
        to line: String,
        _ fields: [(String, String)],
        settings: ServerSettings = .forTests(\.names, Self.names)
    ) async throws -> Response {
        let fixture = try await ServerFixture(settings: settings)
        let lines = fields.map { "\($0): \($1)\r\n" }.joined()
        let request = Request(
            head: try #require(RequestHead("\(line)\r\n\(lines)\r\n")),
            body: RequestBody([]),
            peer: .unix,
            loopIndex: 0,
            proxies: TrustedProxies(networks: [], includesUnix: true, field: .xForwardedFor)
        )
        return try await fixture.server.respond(to: request).response
    }

    private static let alice = ("Authorization", ServerFixture.basic("alice"))

    @Test(arguments: [
        "push.example.com", "push.example.com:8443", "PUSH.example.com", "Push.Example.com:80", "192.0.2.1",
        "192.0.2.1:8080", "[2001:db8::1]:8080", "[2001:DB8:0::1]",
    ])
    func aRequestForAConfiguredNameIsAnswered(host: String) async throws {
        let answer = try await self.answer(to: "GET /api/register HTTP/1.1", [("Host", host), Self.alice])
        #expect(answer.status == .ok, "\(answer.text)")
        let absolute = "GET http://\(host)/api/register HTTP/1.1"
        #expect(try await self.answer(to: absolute, [("Host", "evil.example"), Self.alice]).status == .ok)
    }

    @Test(arguments: [
        "evil.example", "push.example.com.evil.example", "xpush.example.com", "push.example.com.", "127.0.0.1:8080",
        "192.0.2.10", "[::1]", "localhost", "push%2eexample.com",
    ])
    func aRequestForAnotherHostIsRefused(host: String) async throws {
        for (method, path) in [("GET", Paths.register), ("POST", Paths.sessions), ("GET", "/console/"), ("GET", "/x")] {
            let fields = [("Host", host), Self.alice, ("MyToken", "1000")]
            let answer = try await self.answer(to: "\(method) \(path) HTTP/1.1", fields)
            try answer.expectProblem(.misdirectedRequest, "\"\(host)\" is not in server.names")
            #expect(answer.fields[.myToken] == "17003")
        }
        let absolute = "GET http://\(host)/api/register HTTP/1.1"
        try await self.answer(to: absolute, [("Host", "push.example.com"), Self.alice]).expectProblem(
            .misdirectedRequest
        )
    }

    @Test func aRequestWithoutAHostIsRefused() async throws {
        try await self.answer(to: "GET /api/register HTTP/1.0", [Self.alice]).expectProblem(
            .misdirectedRequest,
            "Host is missing"
        )
        #expect(try await self.answer(to: "GET /healthz HTTP/1.0", []).status == .ok)
    }

    /// By DNS rebinding, the request's origin and host agree, so the browser calls the request
    /// same-origin.
    @Test func aRequestByDNSRebindingIsRefused() async throws {
        var settings = ServerSettings.forTests(\.names, Self.names)
        settings.identityField = IdentityField("X-Remote-User")
        for line in ["POST \(Paths.users) HTTP/1.1", "GET \(Paths.users) HTTP/1.1", "GET /metrics HTTP/1.1"] {
            let fields = [
                ("Host", "evil.example:8080"), ("Origin", "http://evil.example:8080"),
                ("Sec-Fetch-Site", "same-origin"),
                ("X-Remote-User", "ada"),
            ]
            try await self.answer(to: line, fields, settings: settings).expectProblem(.misdirectedRequest)
        }
    }

    @Test(arguments: ["10.1.2.3:8080", "[fd00::1]:8080", "probe.internal"])
    func probesNeedNoName(host: String) async throws {
        for path in ["/healthz", "/readyz"] {
            #expect(try await self.answer(to: "GET \(path) HTTP/1.1", [("Host", host)]).status == .ok)
        }
        let ada = ("Authorization", ServerFixture.basic("ada"))
        let metrics = try await self.answer(to: "GET /metrics HTTP/1.1", [("Host", host), ada])
        if host == "probe.internal" {
            try metrics.expectProblem(.misdirectedRequest)
        } else {
            #expect(metrics.status == .ok)
        }
    }

    @Test func anyHostIsAcceptedWithoutConfiguredNames() async throws {
        let fields = [("Host", "evil.example"), Self.alice]
        #expect(
            try await self.answer(to: "GET /api/register HTTP/1.1", fields, settings: .forTests(\.names, [])).status
                == .ok
        )
    }
}
