import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Browsers' requests that the server refuses because of their origin. Refused requests change
/// nothing. `scripts/e2e run browsers` tests a real browser.
@Suite(.timeLimit(.minutes(5))) struct CrossOriginTests {
    /// The fields of a request to `sealpost.test`, and whether a foreign page sent the request.
    /// Pages of `app.example` are allowed.
    struct Row: Sendable {
        let fields: [(String, String)]
        let isForeign: Bool

        init(_ isForeign: Bool, origin: String..., site: String? = nil) {
            self.fields = origin.map { ("Origin", $0) } + (site.map { [("Sec-Fetch-Site", $0)] } ?? [])
            self.isForeign = isForeign
        }
    }

    static let rows = [
        // A client that is not a browser.
        Row(false),
        // A browser that sends only `Origin`. Without TLS, no browser sends `Sec-Fetch-Site`.
        Row(false, origin: "https://sealpost.test"), Row(false, origin: "http://sealpost.test"),
        Row(true, origin: "https://sealpost.test:8443"), Row(true, origin: "https://evil.example"),
        Row(true, origin: "https://sealpost.test.evil.example"), Row(true, origin: "https://evil.sealpost.test"),
        Row(true, origin: "null"), Row(true, origin: ""), Row(true, origin: "https://sealpost.test/"),
        Row(true, origin: "capacitor://sealpost.test"),
        Row(true, origin: "https://sealpost.test", "https://sealpost.test"),
        // A browser that sends `Sec-Fetch-Site`.
        Row(false, site: "same-origin"), Row(false, site: "none"),
        Row(true, site: "same-site"), Row(true, site: "cross-site"), Row(true, site: "next-door"), Row(true, site: ""),
        Row(true, site: "Same-Origin"), Row(true, site: "same-origin, same-origin"),
        // A browser that sends both fields. `Sec-Fetch-Site` decides, because a proxy may have
        // changed `Host`.
        Row(false, origin: "https://sealpost.test", site: "same-origin"),
        Row(false, origin: "https://push.example", site: "same-origin"),
        Row(true, origin: "null", site: "same-origin"), Row(true, origin: "https://evil.example", site: "none"),
        Row(true, origin: "https://sealpost.test", site: "cross-site"),
        Row(true, origin: "https://evil.example", site: "same-site"),
        // An allowed origin, and origins that resemble it.
        Row(false, origin: "https://app.example"), Row(false, origin: "https://app.example", site: "cross-site"),
        Row(false, origin: "https://app.example", site: "same-site"), Row(false, origin: "capacitor://localhost"),
        Row(true, origin: "http://app.example", site: "cross-site"), Row(true, origin: "https://APP.example"),
        Row(true, origin: "https://app.example:443"), Row(true, origin: "https://app.example", "https://app.example"),
    ]

    static let foreign = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]

    static let settings = ServerSettings.forTests(
        \.allowedOrigins,
        Set(["https://app.example", "capacitor://localhost"].compactMap { WebOrigin($0) })
    )

    @Test(arguments: rows, [HTTPRequest.Method.post, .get])
    func aForeignPageIsRefused(row: Row, method: HTTPRequest.Method) async throws {
        let fixture = try await ServerFixture(settings: Self.settings)
        let headers = row.fields + [("MyToken", "1000"), ("X-Request-Id", "one")]
        let response = try await fixture.send(method, Paths.register, headers: headers)
        #expect(response.fields[.myToken] == "17003")
        #expect(response.fields[.requestID] == "one")
        guard row.isForeign else {
            #expect(response.status == .ok, "\(response.text)")
            return
        }
        try response.expectProblem(.crossOrigin)
        #expect(response.fields[.accessControlAllowOrigin] == nil)
    }

    /// The server checks the origin before the route, the caller and the body. A foreign page
    /// therefore gets status 403, whatever its request contains.
    @Test(arguments: ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" })
    func everyRouteButOpenReadsRefusesForeignPages(name: String) async throws {
        let fixture = try await ServerFixture()
        let route = try #require(ServerFixture.routes.first { "\($0.method.rawValue) \($0.path)" == name })
        let path = route.path.filled(with: route.path.hasPrefix("/console") ? "console.js" : "1")
        let isOpen = route.access == .anybody && route.method == .get
        var refusals: Set<[UInt8]> = []
        for (user, body) in [(nil, ""), ("nobody", "{"), ("ada", String(repeating: " ", count: 262_145))] {
            let response = try await fixture.send(
                route.method,
                path,
                user: user,
                headers: Self.foreign + [("X-Request-Id", "same")],
                body: body
            )
            guard !isOpen else {
                #expect(response.status == (["GET /", "GET /console"].contains(name) ? .permanentRedirect : .ok))
                continue
            }
            try response.expectProblem(.crossOrigin, "https://evil.example")
            #expect(response.fields[.wwwAuthenticate] == nil, "no browser asks for a password")
            refusals.insert(response.body)
        }
        #expect(refusals.count == (isOpen ? 0 : 1))
    }

    /// The requests have an administrator's credentials, as a browser would add them.
    @Test func requestsOfForeignPagesChangeNothing() async throws {
        let fixture = try await ServerFixture()
        let once = try await fixture.post(#"{"Payload":"once","ReadOnce":true,"To":["username:ada"]}"#, user: "ada")
        let plain = try await fixture.post(#"{"Payload":"more","To":["username:ada"]}"#, user: "ada")
        let before = try await self.state(of: fixture, [once, plain])
        let wakeUps = fixture.wakeUps.count
        for (route, row) in AccessRow.all {
            let words = route.filled(with: "1").split(separator: " ").map(String.init)
            let method = try #require(HTTPRequest.Method(words[0]))
            try await fixture.send(method, words[1], user: "ada", headers: Self.foreign, body: row.body)
        }
        for path in [once, plain] {
            for method in [HTTPRequest.Method.get, .delete, .patch] {
                try await fixture.send(method, path, user: "ada", headers: Self.foreign, body: #"{"Read":true}"#)
                    .expectProblem(.crossOrigin)
            }
        }
        #expect(fixture.wakeUps.count == wakeUps)
        #expect(try await self.state(of: fixture, [once, plain]) == before)
        #expect(try await fixture.send(.get, once, user: "ada").json["Payload"] == .string("once"))
    }

    @Test func aRefusalIsSignedOnRequest() async throws {
        let fixture = try await ServerFixture()
        let asking = [("MyToken", "1000"), ("Accept-Signature", ResponseVerifier.acceptSignature())]
        let response = try await fixture.send(.post, Paths.notifications, headers: Self.foreign + asking)
        try response.expectProblem(.crossOrigin)
        let message = SignedMessage(
            status: 403,
            body: response.body,
            request: SignedRequest(method: "POST", path: Paths.notifications, query: nil, token: "1000")
        ) { name in
            response.fields.lines.filter { $0.name.canonicalName == name }.map(\.value)
        }
        let verifier = ResponseVerifier(keys: fixture.signingKeys.current.keys.map(\.key.publicKey))
        try verifier.verify(message, now: fixture.clock.now)
    }

    @Test func aForeignPageDoesNotUseTheCallersQuota() async throws {
        let fixture = try await ServerFixture(quotas: [.device: try #require(Quota(requests: 2, window: 60))])
        for _ in 0..<5 {
            let refused = try await fixture.send(.get, Paths.register, headers: Self.foreign)
            #expect(refused.fields[.rateLimit] == nil)
        }
        let response = try await fixture.send(.get, Paths.register)
        #expect(response.status == .ok)
        #expect(response.fields[.rateLimit]?.contains(";r=1;") == true)
    }

    // MARK: The server's own origin

    /// A request's connection, its `X-Forwarded-Proto`, its `Host` and its `Origin`, and whether
    /// that origin is the server's own.
    struct Way: Sendable {
        let isEncrypted: Bool
        let forwarded: String?
        let host: String
        let origin: String
        let isOwn: Bool

        init(_ isEncrypted: Bool, _ forwarded: String?, _ host: String, _ origin: String, _ isOwn: Bool) {
            self.isEncrypted = isEncrypted
            self.forwarded = forwarded
            self.host = host
            self.origin = origin
            self.isOwn = isOwn
        }
    }

    static let ways = [
        // The server itself terminates TLS, so it knows that the scheme is `https`.
        Way(true, nil, "h", "https://h", true), Way(true, nil, "h", "http://h", false),
        Way(true, nil, "h:8443", "https://h:8443", true),
        Way(true, "http", "h", "https://h", true), Way(true, nil, "H:443", "https://h", true),
        Way(true, nil, "h:80", "https://h", false),
        // The server has no TLS. A proxy in front of it may have terminated TLS without sending
        // `X-Forwarded-Proto`, so both schemes are possible.
        Way(false, nil, "h", "https://h", true), Way(false, nil, "h", "http://h", true),
        Way(false, nil, "h:80", "http://h", true),
        Way(false, nil, "h:443", "http://h", false), Way(false, nil, "h:8080", "http://h", false),
        // The server has no TLS, and the proxy sends `X-Forwarded-Proto`.
        Way(false, "https", "h", "https://h", true), Way(false, "https", "h", "http://h", false),
        Way(false, "http", "h", "http://h", true), Way(false, "http", "h", "https://h", false),
        Way(false, "HTTPS", "[::1]:1", "https://[::1]:1", true), Way(false, "https, http", "h", "http://h", true),
    ]

    @Test(arguments: ways)
    func theServersOriginIsTheSchemeAndHostThatTheClientUsed(way: Way) async throws {
        let fixture = try await ServerFixture()
        let proto = way.forwarded.map { "X-Forwarded-Proto: \($0)\r\n" } ?? ""
        let response = try await self.respond(
            fixture,
            "POST /api/register HTTP/1.1\r\nHost: \(way.host)\r\nOrigin: \(way.origin)\r\n\(proto)",
            isEncrypted: way.isEncrypted
        )
        // The request has no credentials. If it passes the check of its origin, the server
        // therefore answers with status 401.
        try response.expectProblem(way.isOwn ? .unauthorized : .crossOrigin)
    }

    @Test func theHostOfAnAbsoluteTargetDecidesTheOrigin() async throws {
        let fixture = try await ServerFixture()
        let absolute = "POST http://a.test/api/register HTTP/1.1\r\nHost: b.test\r\n"
        try await self.respond(fixture, absolute + "Origin: http://a.test\r\n").expectProblem(.unauthorized)
        try await self.respond(fixture, absolute + "Origin: http://b.test\r\n").expectProblem(.crossOrigin)
        let old = "POST /api/register HTTP/1.0\r\nOrigin: http://a.test\r\n"
        try await self.respond(fixture, old).expectProblem(.crossOrigin)
    }

    // MARK: - Private

    private func respond(_ fixture: ServerFixture, _ head: String, isEncrypted: Bool = false) async throws -> Response {
        let proxy = try #require(IPAddress("192.0.2.1"))
        let network = try #require(IPNetwork("192.0.2.1"))
        let request = Request(
            head: try #require(RequestHead(head + "\r\n")),
            body: RequestBody([]),
            peer: .ip(proxy),
            loopIndex: 0,
            isEncrypted: isEncrypted,
            proxies: TrustedProxies(networks: [network], includesUnix: false, field: .xForwardedFor)
        )
        let response = try await fixture.server.respond(to: request).response
        response.expectEnvelope()
        return response
    }

    /// Reads everything that administrators see of users, tokens, devices and the audit, and the
    /// receipts of the notifications at `paths`.
    private func state(of fixture: ServerFixture, _ paths: [String]) async throws -> [String] {
        try await fixture.storage.store.writeReceipts()
        var state: [String] = []
        for path in [Paths.users, Paths.tokens, Paths.register, Paths.audit] {
            state.append(try await fixture.send(.get, path, user: "ada").text)
        }
        let ada = try await fixture.storage.user("ada")
        for path in paths {
            let number = try #require(path.split(separator: "/").last.flatMap { Int64($0) })
            let found = try await fixture.storage.reader.notification(
                #require(NotificationID(rawValue: number)),
                for: ada.id,
                alsoAsSender: false,
                now: fixture.clock.now
            )
            let notification = try #require(found)
            #expect(notification.fetchedAt == nil)
            #expect(notification.readAt == nil)
            state.append("\(notification)")
        }
        return state
    }
}
