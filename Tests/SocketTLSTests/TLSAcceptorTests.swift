import COpenSSL
import PushSimulators
import PushTesting
import Reactor
import SocketTLS
import Testing

/// The HTTP server with TLS, over TCP.
@Suite(.timeLimit(.minutes(5))) struct TLSAcceptorTests {
    private static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private static func options(_ newest: Int32, portion: Int? = nil) -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        options.newest = newest
        options.portion = portion
        return options
    }

    @Test(arguments: Self.versions)
    func requestsAreAnsweredOneAfterTheOther(version: Int32) async throws {
        let answers = try await TestServer.run { server in
            try await server.withClient(Self.options(version)) { client in
                [try await client.exchange("/1", body: "one"), try await client.exchange("/2", body: "two")]
            }
        }
        #expect(answers == ["nobody /1 one", "nobody /2 two"])
    }

    @Test(arguments: Self.versions, [1, 5, 17])
    func aStreamMayBeCutAnywhere(version: Int32, portion: Int) async throws {
        let answer = try await TestServer.run { server in
            try await server.withClient(Self.options(version, portion: portion)) { client in
                try await client.exchange("/", body: String(repeating: "x", count: 100))
            }
        }
        #expect(answer == "nobody / " + String(repeating: "x", count: 100))
    }

    @Test(arguments: Self.versions)
    func largeBodiesGoBothWays(version: Int32) async throws {
        let body = String((0..<200_000).flatMap { "\($0 % 9973)," })
        let answer = try await TestServer.run { server in
            try await server.withClient(Self.options(version)) { try await $0.exchange("/", body: body) }
        }
        #expect(answer == "nobody / " + body)
    }

    @Test(arguments: Self.versions)
    func manyRequestsInOneRecordAreAllAnswered(version: Int32) async throws {
        let end = try await TestServer.run { server in
            try await server.withClient(Self.options(version)) { client in
                let last = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
                try await client.write(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 50) + last)
                var received: [UInt8] = []
                while case let more = try await client.read(), !more.isEmpty { received += more }
                #expect(client.wasNotified)
                return String(decoding: received, as: UTF8.self)
            }
        }
        #expect(end.matches(of: /nobody \/ HTTP/).count == 50)
        #expect(end.hasSuffix("nobody /last "))
    }

    @Test func theClientsCertificateIsOnTheRequest() async throws {
        let authority = try TestAuthority()
        var options = TLSTestClient.Options()
        options.identity = try authority.makeClientIdentity("alice")
        let answer = try await TestServer.run(TLSServerContext(trusting: authority)) { [options] server in
            try await server.withClient(options) { try await $0.exchange("/") }
        }
        #expect(answer == "alice / ")
    }

    @Test func aReloadIsForNewConnectionsOnly() async throws {
        let (before, after) = (try Self.named("before"), try Self.named("after"))
        let names = try await TestServer.run(before) { server in
            try await server.withClient { old in
                #expect(try await old.exchange("/1") == "nobody /1 ")
                server.acceptor.replace(with: after)
                #expect(try await old.exchange("/2") == "nobody /2 ")
                return [old.serverName, try await server.withClient { $0.serverName }]
            }
        }
        #expect(names == ["before", "after"])
    }

    private static func named(_ name: String) throws -> TLSServerContext {
        let identity = try TestAuthority().makeIdentity(CertificateContent(commonNames: [name], usage: .server))
        return try TLSServerContext(identities: [identity])
    }

    // MARK: - Failures

    @Test func aHandshakeThatTricklesInEndsAtItsDeadline() async throws {
        try await TestServer.run(handshakeTimeout: .milliseconds(300)) { server in
            let client = try server.connect()
            defer { client.close() }
            // This header of a handshake record announces more bytes than will arrive.
            try await client.send([22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3])
            var sent = 0
            while !client.hasEnded {
                // The client sends a byte every 20 ms, so the handshake always makes progress.
                do throws(WaitError) {
                    try await client.waitToRead(until: .now + .milliseconds(20))
                } catch .timedOut {
                    try await client.send([0])
                    sent += 1
                    try #require(sent < 250, "the server waits for ever")
                }
            }
            #expect(sent > 0)
            #expect(server.failures.all == ["timedOut"])
            #expect(server.acceptor.failedHandshakes == 1)
        }
    }

    /// Bytes that a client sends in place of a ClientHello, and the beginning of the server's
    /// answer.
    static let noTLS: [([UInt8], [UInt8])] = [
        (Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8), Array("HTTP/1.1 400 Bad Request\r\n".utf8)),
        (Array("POST / HTTP/1.1\r\nHost: h\r\n\r\nbody".utf8), Array("HTTP/1.1 400 Bad Request\r\n".utf8)),
        // A handshake message of an unknown type, and, as the answer, the beginning of an alert
        // record.
        ([22, 3, 1, 0, 4, 99, 0, 0, 0], [21, 3]), ([UInt8](repeating: 0, count: 100), []),
    ]

    @Test(arguments: Self.noTLS)
    func connectionWithoutTLSIsClosed(sent: [UInt8], answer: [UInt8]) async throws {
        try await TestServer.run { server in
            let client = try server.connect()
            defer { client.close() }
            try await client.send(sent[...])
            let received = try await client.readToEnd()
            #expect(received.starts(with: answer), "\(received)")
            #expect(server.failures.all.count == 1)
            #expect(server.acceptor.failedHandshakes == 1)
        }
    }

    @Test func clientIsServedDespiteSilentOnes() async throws {
        try await TestServer.run { server in
            let silent = try (0..<20).map { _ in try server.connect() }
            defer { for client in silent { client.close() } }
            for _ in 0..<3 {
                #expect(try await server.withClient { try await $0.exchange("/") } == "nobody / ")
            }
            #expect(server.failures.all.isEmpty)
        }
    }

    @Test func refusedClientGetsTheAlertAfterItsRequests() async throws {
        let context = try TLSServerContext(trusting: TestAuthority())
        var options = TLSTestClient.Options()
        options.identity = try TestAuthority(name: "Another").makeClientIdentity("mallory")
        try await TestServer.run(context) { [options] server in
            // With TLS 1.3, the client's handshake ends before the server has checked the client's
            // certificate.
            let error = await #expect(throws: OpenSSLError.self) {
                try await server.withClient(options) { client in
                    for _ in 0..<20 { try await client.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
                    _ = try await client.read()
                }
            }
            #expect(error?.description.contains("unknown ca") == true, "\(String(describing: error))")
        }
    }

    @Test func aUnixSocketStaysInClear() async throws {
        let folder = try TemporaryFolder()
        try await TestServer.run(at: .unix(path: folder.file("socket"))) { server in
            let client = try server.connect()
            defer { client.close() }
            try await client.send(Array("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".utf8)[...])
            #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }
}

extension SocketStream {
    /// Whether the server has closed the connection, perhaps with a reset. Call this only if the
    /// server sends nothing else.
    fileprivate var hasEnded: Bool {
        var byte: UInt8 = 0
        do throws(StreamError) {
            return try withUnsafeMutableBytes(of: &byte) { (bytes) throws(StreamError) in try self.read(into: bytes) }
                == 0
        } catch {
            return true
        }
    }

    fileprivate func readToEnd() async throws -> [UInt8] {
        var (received, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try self.read(into: $0) }) {
                if count == 0 { return received }
                received += buffer.prefix(count)
            } else {
                try await self.waitToRead(until: .now + .seconds(30))
            }
        }
    }
}
