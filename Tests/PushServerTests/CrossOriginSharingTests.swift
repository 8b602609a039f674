import Foundation
import HTTPTypes
import PushAPI
import PushCore
import SocketHTTP
import Testing

@testable import PushServer

/// The answers that a web page of an allowed origin may read, by the CORS protocol of the Fetch
/// standard.
@Suite(.timeLimit(.minutes(5))) struct CrossOriginSharingTests {
    private static let app = [("Origin", "https://app.example"), ("Sec-Fetch-Site", "cross-site")]

    private static func asking(_ method: String, origin: String = "https://app.example") -> [(String, String)] {
        [
            ("Origin", origin), ("Access-Control-Request-Method", method),
            ("Access-Control-Request-Headers", "authorization,mytoken"),
        ]
    }

    private static func values(_ name: HTTPField.Name, _ response: Response) -> [String] {
        response.fields.lines.filter { $0.name == name }.map(\.value)
    }

    /// The response fields that tell a browser whether a page may read the response.
    private static let sharing: [HTTPField.Name] = [
        .accessControlAllowOrigin, .accessControlAllowCredentials, .accessControlExposeHeaders,
        .accessControlAllowMethods, .accessControlAllowHeaders, .accessControlMaxAge,
    ]

    // MARK: Answers

    @Test(arguments: EnvelopeTests.Sample.allCases)
    func anAllowedOriginMayReadEveryAnswer(sample: EnvelopeTests.Sample) async throws {
        let headers = Self.app + [("MyToken", "1000")]
        let response = try await EnvelopeTests().send(
            sample,
            headers: headers,
            signingKeys: SigningKeys(.random()),
            settings: CrossOriginTests.settings
        ).response
        #expect(response.status.code == sample.rawValue)
        #expect(Self.values(.accessControlAllowOrigin, response) == ["https://app.example"])
        #expect(Self.values(.accessControlAllowCredentials, response) == ["true"])
        #expect(
            Self.values(.accessControlExposeHeaders, response) == [
                "MyToken, ETag, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, "
                    + "Preference-Applied, Content-Digest, Signature-Input, Signature, Sealpost-Account"
            ]
        )
        #expect(Self.values(.vary, response).count { $0 == "Origin" } == 1)
    }

    /// A cache must not give one origin's answer to another. If answers can depend on the origin,
    /// the server therefore sends `Vary`, even in the answer to a request without `Origin`.
    @Test(arguments: EnvelopeTests.Sample.allCases)
    func aRequestWithoutAnOriginGetsOnlyVary(sample: EnvelopeTests.Sample) async throws {
        for (settings, vary) in [(CrossOriginTests.settings, 1), (.forTests, 0)] {
            let response = try await EnvelopeTests().send(
                sample,
                headers: [],
                signingKeys: SigningKeys(.random()),
                settings: settings
            ).response
            for name in Self.sharing { #expect(response.fields[name] == nil, "\(name)") }
            #expect(Self.values(.vary, response).count { $0 == "Origin" } == vary)
        }
    }

    @Test func aListAndItsNotModifiedAnswerHaveTheSameVary() async throws {
        let fixture = try await ServerFixture(settings: CrossOriginTests.settings)
        _ = try await fixture.post(#"{"Payload":1}"#, user: "alice")
        let full = try await fixture.send(.get, Paths.notifications, headers: Self.app)
        let condition = [("If-None-Match", try #require(full.fields[.eTag]))]
        let unchanged = try await fixture.send(.get, Paths.notifications, headers: Self.app + condition)
        #expect(unchanged.status == .notModified)
        for response in [full, unchanged] {
            #expect(Self.values(.vary, response) == ["Authorization, Accept-Encoding", "Origin"])
            #expect(response.fields[.accessControlAllowOrigin] == "https://app.example")
        }
    }

    @Test func theServersOwnRefusalsAreReadable() async throws {
        let fixture = try await ServerFixture(settings: CrossOriginTests.settings)
        let head = try #require(RequestHead("POST / HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\n\r\n"))
        let refusal = fixture.server.refuse(.bodyTooLarge, head: head)
        refusal.expectEnvelope()
        #expect(refusal.fields[.accessControlAllowOrigin] == "https://app.example")
        let unread = fixture.server.refuse(.badRequest("x"), head: nil)
        unread.expectEnvelope()
        #expect(unread.fields[.accessControlAllowOrigin] == nil)
        #expect(unread.fields[.vary] == "Origin")
    }

    // MARK: Preflights

    @Test(arguments: [
        ("/api/register", "POST, GET, HEAD"), ("/api/register/x", "PUT, DELETE"),
        ("/api/notifications/1", "GET, HEAD, PATCH, DELETE"), ("/api/stream", "GET, HEAD"), ("/healthz", "GET, HEAD"),
        ("/api/users", "POST, GET, HEAD"), ("/API/Register", "POST, GET, HEAD"),
    ])
    func aPreflightIsAnsweredWithoutCredentials(path: String, methods: String) async throws {
        let fixture = try await ServerFixture(settings: CrossOriginTests.settings)
        for user in [nil, "nobody", "alice"] {
            let headers = Self.asking("PUT") + [("MyToken", "1")]
            let response = try await fixture.send(.options, path, user: user, headers: headers)
            #expect(response.status == .noContent)
            #expect(response.body.isEmpty)
            #expect(response.fields[.myToken] == "20")
            #expect(Self.values(.accessControlAllowOrigin, response) == ["https://app.example"])
            #expect(Self.values(.accessControlAllowCredentials, response) == ["true"])
            #expect(Self.values(.accessControlAllowMethods, response) == [methods])
            let allowed =
                "Authorization, Content-Type, MyToken, Accept-Signature, X-Request-Id, Idempotency-Key, "
                + "Prefer, Last-Event-ID, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, "
                + "traceparent, tracestate, baggage, sentry-trace, x-datadog-trace-id, x-datadog-parent-id, "
                + "x-datadog-origin, x-datadog-sampling-priority, b3, elastic-apm-traceparent, newrelic"
            #expect(Self.values(.accessControlAllowHeaders, response) == [allowed])
            #expect(Self.values(.accessControlMaxAge, response) == ["7200"])
            #expect(Self.values(.vary, response) == ["Origin"])
        }
    }

    /// Requests that are not preflights of an allowed origin's page get the same answer as if no
    /// origin were allowed.
    @Test(arguments: [
        asking("PUT", origin: "https://evil.example"), asking("PUT", origin: "null"), asking("PUT", origin: "*"),
        Array(asking("PUT").dropFirst()), [("Origin", "https://app.example")], [],
    ])
    func onlyAllowedPreflightsGetPreflightAnswers(headers: [(String, String)]) async throws {
        for settings in [ServerSettings.forTests, CrossOriginTests.settings] {
            let fixture = try await ServerFixture(settings: settings)
            let stranger = try await fixture.send(.options, "/api/register", user: nil, headers: headers)
            try stranger.expectProblem(.unauthorized)
            let known = try await fixture.send(.options, "/api/register", headers: headers)
            try known.expectProblem(.methodNotAllowed)
            #expect(known.fields[.allow] == "POST, GET, HEAD")
            for response in [stranger, known] { #expect(response.fields[.accessControlAllowMethods] == nil) }
        }
    }

    @Test func aPreflightOfAPathThatIsNotThereFails() async throws {
        let fixture = try await ServerFixture(settings: CrossOriginTests.settings)
        let headers = Self.asking("PUT")
        try await fixture.send(.options, "/nothing", user: nil, headers: headers).expectProblem(.notFound)
        try await fixture.send(.options, "/api/nothing", user: nil, headers: headers).expectProblem(.unauthorized)
    }

    // MARK: Transport

    @Test(arguments: [(true, 63, "max-age=63"), (true, 0, "max-age=0"), (true, nil, nil), (false, 63, nil)])
    func onlyTheServersOwnTLSSendsHSTS(isEncrypted: Bool, hsts: Int?, field: String?) async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.hsts, hsts))
        for target in ["/healthz", "/api/register"] {
            let request = Request(
                head: try #require(RequestHead("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")),
                body: RequestBody([]),
                peer: .unknown,
                loopIndex: 0,
                isEncrypted: isEncrypted
            )
            let response = try await fixture.server.respond(to: request).response
            response.expectEnvelope()
            #expect(Self.values(.strictTransportSecurity, response) == (field.map { [$0] } ?? []))
        }
    }
}
