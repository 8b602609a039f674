import HTTPTypes
import Reactor

@testable import SocketHTTP

/// A responder that calls a closure. Its refusals are plain text that says whether the server had
/// read a head.
struct TestResponder: Responder {
    let answer: @Sendable (Request) async -> Response

    func respond(to request: Request) -> Reply {
        .later { await self.answer(request) }
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        Response(
            status: refusal.status,
            fields: [.contentType: "text/plain"],
            body: Array("\(head == nil ? "no head" : "head"): \(refusal.detail)".utf8)
        )
    }
}

/// A running server and the actions of a test. The test's actions run on `loop`, which all its
/// clients share.
struct TestServer {
    let server: HTTPServer
    let loop: EventLoop

    func client(receiveBuffer: Int32? = nil, from source: String? = nil) throws -> RawClient {
        try RawClient(to: self.server.addresses[0], on: self.loop, receiveBuffer: receiveBuffer, from: source)
    }
}

/// Answers with the request's method, target and body.
@Sendable func echo(_ request: Request) async -> Response {
    do throws(BodyError) {
        let body = try await request.body.collect()
        let line = "\(request.head.method.rawValue) \(request.head.target) "
        return Response(status: .ok, body: Array(line.utf8) + body)
    } catch {
        return Response(status: error.refusal.status, body: Array("\(error)".utf8))
    }
}

func withServer<Result: Sendable>(
    at address: SocketAddress = .tcp(host: "127.0.0.1", port: 0),
    limits: ServerLimits = ServerLimits(),
    proxies: TrustedProxies = .none,
    grace: Duration = .seconds(10),
    loops count: Int = 2,
    opening: HTTPServer.Opening = .init(),
    responder: (any Responder)? = nil,
    answer: @Sendable @escaping (Request) async -> Response = echo,
    _ body: @Sendable @escaping (TestServer) async throws -> Result
) async throws -> Result {
    let loops = try EventLoopGroup(count: count)
    let clients = try EventLoop(index: 0)
    defer {
        loops.stop()
        clients.stop()
    }
    let server = HTTPServer(
        listeners: [try Listener(address)],
        loops: loops,
        limits: limits,
        proxies: proxies,
        grace: grace,
        responder: responder ?? TestResponder(answer: answer),
        opening: opening
    )
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask {
            await server.run()
            return nil
        }
        group.addTask(executorPreference: clients) {
            defer { server.stop() }
            return try await body(TestServer(server: server, loop: clients))
        }
        var result: Result?
        for try await value in group { result = value ?? result }
        guard let result else { throw CancellationError() }
        return result
    }
}
