import HTTPTypes
import Reactor
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    @Test(arguments: [
        ("G@T / HTTP/1.1\r\n", "400 Bad Request", "no head"),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "head"),
        ("GET / HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n", "400 Bad Request", "no head"),
        ("GET /\(String(repeating: "a", count: 300)) HTTP/1.1\r\n", "414 URI Too Long", "no head"),
        (
            "GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 1000))", "431 Request Header Fields Too Large",
            "no head"
        ),
        (
            "GET / HTTP/1.1\r\n\(String(repeating: "X:\r\n", count: 11))", "431 Request Header Fields Too Large",
            "no head"
        ),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation Failed", "head"),
        ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "501 Not Implemented", "head"),
        ("GET / HTTP/3.0\r\n", "505 HTTP Version Not Supported", "no head"),
    ])
    func refusedRequestIsAnsweredWithAReasonAndClosed(text: String, status: String, head: String) async throws {
        let limits = ServerLimits { ($0.targetBytes, $0.headerBytes, $0.headerCount) = (200, 1000, 10) }
        try await withServer(limits: limits) { test in
            let client = try test.client()
            try await client.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n\(text)")
            #expect(try await client.response().body == "GET /first ")
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 \(status)")
            #expect(response.body.hasPrefix("\(head): "))
            #expect(response.value("Connection") == "close")
            #expect(response.value("Content-Type") == "text/plain")
            #expect(response.value("Date") != nil)
            #expect(try await client.rest() == "")
        }
    }

    @Test func aRefusedHeadRequestHasNoBody() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("HEAD / HTTP/1.1\r\n\r\n")
            #expect(try await client.response(bodyless: true).status == "HTTP/1.1 400 Bad Request")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aHeadThatTakesTooLongIsRefused() async throws {
        try await withServer(limits: ServerLimits { $0.headerTimeout = .milliseconds(30) }) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHo")
            #expect(try await client.response().status == "HTTP/1.1 408 Request Timeout")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aDripOfBytesDoesNotProlongTheTimeForAHead() async throws {
        try await withServer(limits: ServerLimits { $0.headerTimeout = .milliseconds(100) }) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\nX: ")
            // Without the deadline, the client would continue until the head is too large, and
            // would get another status.
            while try await !client.hasNews(within: .milliseconds(5)) { try await client.send("x") }
            #expect(try await client.response().status == "HTTP/1.1 408 Request Timeout")
        }
    }

    @Test func connectionWithoutARequestIsClosedSilently() async throws {
        try await withServer(limits: ServerLimits { $0.headerTimeout = .milliseconds(30) }) { test in
            let client = try test.client()
            #expect(try await client.rest() == "")
        }
    }

    @Test func idleConnectionIsClosedSilently() async throws {
        try await withServer(limits: ServerLimits { $0.idleTimeout = .milliseconds(30) }) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await client.response()
            #expect(try await client.rest() == "")
        }
    }

    @Test func aBodyThatTakesTooLongEndsTheConnection() async throws {
        try await withServer(limits: ServerLimits { $0.bodyTimeout = .milliseconds(30) }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab")
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 408 Request Timeout")
            #expect(response.value("Connection") == "close")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aClientThatDoesNotReadIsCutOff() async throws {
        let body = [UInt8](repeating: 0x78, count: 8_000_000)
        let limits = ServerLimits { ($0.maxConnections, $0.writeTimeout) = (1, .milliseconds(30)) }
        let answer: @Sendable (Request) async -> Response = { request in
            Response(status: .ok, body: request.head.path == "/large" ? body : [])
        }
        try await withServer(limits: limits, answer: answer) { test in
            let greedy = try test.client(receiveBuffer: 4096)
            try await greedy.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            // The server allows one connection. A new client succeeds when the server has closed
            // the greedy client's connection.
            var status = ""
            let end = ContinuousClock.now + .seconds(120)
            while status != "HTTP/1.1 200 OK", ContinuousClock.now < end {
                let client = try test.client()
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                status = try await client.response().status
                _ = try await client.rest()
            }
            #expect(status == "HTTP/1.1 200 OK")
            await #expect(throws: (any Error).self) { try await greedy.response() }
        }
    }

    @Test func connectionAboveTheLimitIsRefused() async throws {
        try await withServer(limits: ServerLimits { $0.maxConnections = 2 }) { test in
            let clients = [try test.client(), try test.client()]
            for client in clients {
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.response().status == "HTTP/1.1 200 OK")
            }
            let third = try test.client()
            try await third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await third.response().status == "HTTP/1.1 503 Service Unavailable")
            #expect(try await third.rest() == "")
            for client in clients {
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                #expect(try await client.response().status == "HTTP/1.1 200 OK")
                #expect(try await client.rest() == "")
            }
        }
    }

    @Test(arguments: [TrustedProxies.none, loopback])
    func trustedProxiesAreNotLimitedByAddress(proxies: TrustedProxies) async throws {
        try await withServer(limits: ServerLimits { $0.maxConnectionsPerAddress = 1 }, proxies: proxies) { test in
            let first = try test.client()
            try await first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await first.response().status == "HTTP/1.1 200 OK")
            let second = try test.client()
            try await second.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            let isTrusted = proxies.contains(.ip(try #require(IPAddress("127.0.0.1"))))
            let expected = isTrusted ? "HTTP/1.1 200 OK" : "HTTP/1.1 503 Service Unavailable"
            #expect(try await second.response().status == expected)
            #expect(try await second.rest() == "")
        }
    }

    @Test func theServerAnswersForAHandlerThatTakesTooLong() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let answer: @Sendable (Request) async -> Response = { _ in
            for await _ in gate.stream { break }
            return Response(status: .ok)
        }
        try await withServer(limits: ServerLimits { $0.handlerTimeout = .milliseconds(30) }, answer: answer) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 503 Service Unavailable")
            #expect(response.body.hasPrefix("head: The server took too long"))
            // After the server's refusal, the handler's own answer must not be sent.
            gate.continuation.finish()
            #expect(try await client.rest() == "")
        }
    }

    @Test func slowBodyDoesNotCountTowardsTheHandlerTimeout() async throws {
        try await withServer(limits: ServerLimits { $0.handlerTimeout = .milliseconds(30) }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na")
            #expect(try await !client.hasNews(within: .milliseconds(100)))
            try await client.send("b")
            #expect(try await client.response().body == "POST / ab")
        }
    }
}

private let loopback = TrustedProxies(
    networks: [IPNetwork("127.0.0.0/8")].compactMap(\.self),
    includesUnix: false,
    field: .xForwardedFor
)
