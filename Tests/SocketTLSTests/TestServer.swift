import Glibc
import HTTPTypes
import PushTesting
import Reactor
import SocketHTTP
import SocketTLS
import Synchronization

/// Answers with the name in the client's certificate, the path and the body. For the path
/// `/streamed`, the answer has a streaming body.
private struct EchoResponder: Responder {
    func respond(to request: Request) -> Reply {
        .later { await self.answer(request) }
    }

    private func answer(_ request: Request) async -> Response {
        do throws(BodyError) {
            if request.head.path == "/streamed" { return Response(status: .ok, streamingBody: Self.streamBody) }
            let body = try await request.body.collect(upTo: 4_000_000)
            let line = "\(request.certificateName ?? "nobody") \(request.head.path) "
            return Response(status: .ok, body: Array(line.utf8) + body)
        } catch {
            return Response(status: .badRequest)
        }
    }

    /// Writes three times as much as a client may leave unread, and then waits until the client
    /// leaves.
    private static let streamBody: Response.StreamingBody = { writer in
        for byte in Array("abc".utf8) { try await writer.write([UInt8](repeating: byte, count: 300_000)) }
        _ = try await writer.wait(until: .now + .seconds(3600))
    }

    func refuse(_ refusal: SocketHTTP.Refusal, head: RequestHead?) -> Response {
        Response(status: .badRequest)
    }
}

/// A running HTTP server with TLS. Its clients use a separate event loop.
struct TestServer: Sendable {
    let acceptor: TLSAcceptor
    let address: SocketAddress
    let loop: EventLoop
    let failures: Failures

    /// The failures that the acceptor has reported.
    final class Failures: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { self.texts.withLock { $0 } }

        func add(_ error: any Error) {
            self.texts.withLock { $0.append("\(error)") }
        }
    }

    static func run<Result: Sendable>(
        _ context: TLSServerContext? = nil,
        at address: SocketAddress = .tcp(host: "127.0.0.1", port: 0),
        handshakeTimeout: Duration = .seconds(30),
        _ body: @Sendable @escaping (TestServer) async throws -> Result
    ) async throws -> Result {
        let (loops, clients) = (try EventLoopGroup(count: 2), try EventLoop(index: 0))
        defer {
            loops.stop()
            clients.stop()
        }
        let failures = Failures()
        let context = try context ?? TLSServerContext()
        let acceptor = TLSAcceptor(context, handshakeTimeout: handshakeTimeout) { failures.add($0) }
        let server = HTTPServer(
            listeners: [try Listener(address)],
            loops: loops,
            grace: .seconds(10),
            responder: EchoResponder(),
            opening: .init(makeStream: acceptor.accept)
        )
        let test = TestServer(acceptor: acceptor, address: server.addresses[0], loop: clients, failures: failures)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                await server.run()
                return nil
            }
            group.addTask(executorPreference: clients) {
                defer { server.stop() }
                return try await body(test)
            }
            var result: Result?
            for try await value in group { result = value ?? result }
            guard let result else { throw CancellationError() }
            return result
        }
    }

    /// Opens an unencrypted connection, which the caller closes.
    func connect() throws -> SocketStream {
        let socket = try ClientSocket.connect(to: self.address) { socket in
            var yes: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        try SystemError.check("fcntl") { fcntl(socket, F_SETFL, O_NONBLOCK) }
        return SocketStream(try Descriptor(socket, on: self.loop))
    }

    /// Runs `body` with a client after its handshake.
    func withClient<Result>(
        _ options: TLSTestClient.Options = .init(),
        _ body: (TLSTestClient) async throws -> Result
    ) async throws -> Result {
        let socket = try self.connect()
        defer { socket.close() }
        let client = try TLSTestClient(socket, options)
        try await client.connect()
        return try await body(client)
    }
}

extension TLSTestClient {
    /// Sends a request and returns the body of its response.
    func exchange(_ path: String, body: String = "") async throws -> String {
        try await self.write("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return try await self.responseBody()
    }

    /// Returns the body of the next response.
    func responseBody() async throws -> String {
        var received: [UInt8] = []
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = received[end.upperBound...]
                if body.count >= length { return String(decoding: body, as: UTF8.self) }
            }
            let more = try await self.read()
            guard !more.isEmpty else { throw CancellationError() }
            received += more
        }
    }
}
