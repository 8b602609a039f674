import Glibc
import HTTPTypes
import PushAPI
import PushTesting
import Reactor
import SocketHTTP
import Testing

@testable import PushServer

/// Bodies of callers that are not signed in must be short, and share one memory limit.
@Suite(.timeLimit(.minutes(5))) struct RequestBodyLimitTests {
    @Test func openRoutesAcceptAtMostFourKibibytes() {
        for route in ServerFixture.routes where route.access == .anybody {
            #expect(route.strangersBody.map { $0 <= 4096 } == true, "\(route.path)")
        }
        #expect(ServerSettings().strangersBodies == 64 << 20)
    }

    @Test(arguments: [(Paths.enrolment, 1024), (Paths.setup, 4096), ("/healthz", 1024)])
    func anUnauthenticatedBodyIsRefusedAboveItsLimit(path: String, bound: Int) async throws {
        let fixture = try await ServerFixture()
        let method: HTTPRequest.Method = path == "/healthz" ? .get : .post
        // With `handling=strict`, the server reads the body on every route.
        let headers = [("Prefer", "handling=strict")]
        let fits = String(repeating: " ", count: bound)
        let answer = try await fixture.send(method, path, user: nil, headers: headers, body: fits)
        #expect(answer.status != .contentTooLarge)
        try await fixture.send(method, path, user: nil, headers: headers, body: fits + " ")
            .expectProblem(.payloadTooLarge)
    }

    /// The memory limit is enough for four enrolment bodies. Each body counts with twice its size,
    /// because an array may reserve twice its size when it grows.
    @Test func stalledUnauthenticatedBodiesDoNotBlockKnownCallers() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.strangersBodies, 4 * 2 * 1024))
        try await Self.serving(fixture) { address in
            let start = "POST \(Paths.enrolment) HTTP/1.1\r\nHost: h\r\n"
            let head = start + "Expect: 100-continue\r\nContent-Length: 1024\r\n\r\n"
            let chunked = head.replacing("Content-Length: 1024", with: "Transfer-Encoding: chunked")
            let waiting = try (0..<4).map { _ in try RawConnection(to: address) }
            for (index, connection) in waiting.enumerated() {
                connection.send(index < 3 ? head : chunked)
                #expect(connection.head().hasPrefix("HTTP/1.1 100 Continue"))
                connection.send(index < 3 ? String(repeating: " ", count: 1023) : "3ff\r\n")
            }

            let refused = try RawConnection(to: address)
            refused.send(head)
            let refusal = refused.head()
            #expect(refusal.hasPrefix("HTTP/1.1 503 "))
            #expect(refusal.contains("\r\nRetry-After: 1\r\n"))

            let known = try RawConnection(to: address)
            let body = #"{"Payload":1}"#
            known.send("POST \(Paths.notifications) HTTP/1.1\r\nHost: h\r\n")
            known.send("Authorization: \(ServerFixture.basic("paul"))\r\n")
            known.send("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            #expect(known.head().hasPrefix("HTTP/1.1 201 "))

            waiting[0].send(" ")
            #expect(waiting[0].head().hasPrefix("HTTP/1.1 400 "))
            let next = try RawConnection(to: address)
            next.send(head)
            #expect(next.head().hasPrefix("HTTP/1.1 100 Continue"))
        }
    }

    /// Serves the fixture's server on a TCP port of this machine while `body` runs.
    private static func serving(
        _ fixture: ServerFixture,
        _ body: @escaping @Sendable (SocketAddress) async throws -> Void
    ) async throws {
        let loops = try EventLoopGroup(count: ServerFixture.loops)
        defer { loops.stop() }
        let server = HTTPServer(
            listeners: [try Listener(.loopback(0))],
            loops: loops,
            grace: .milliseconds(100),
            responder: fixture.server
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run() }
            defer { server.stop() }
            try await body(server.addresses[0])
        }
    }
}

/// A connection whose calls block the test's thread. The server continues meanwhile, because it
/// has event loops of its own.
private final class RawConnection: Sendable {
    private let socket: Int32

    init(to address: SocketAddress) throws {
        self.socket = try ClientSocket.connect(to: address) { socket in
            var timeout = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit {
        close(self.socket)
    }

    func send(_ text: String) {
        _ = Glibc.send(self.socket, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    }

    /// Returns the status line and the header fields, or the part of them that the server sends.
    func head() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8), recv(self.socket, &byte, 1, 0) == 1 {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
