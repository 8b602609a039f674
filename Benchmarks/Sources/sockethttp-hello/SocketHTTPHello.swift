import Reactor
import SocketHTTP

/// `SocketHTTP` doing nothing, to be compared with Hummingbird doing nothing. Takes the port as its only argument.
@main
struct SocketHTTPHello: Responder {
    func respond(to request: Request) -> Reply {
        .now(
            Response(
                status: .ok,
                fields: [.contentType: "text/plain; charset=utf-8"],
                body: Array("Hello, World!".utf8)
            )
        )
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        Response(status: refusal.status)
    }

    static func main() async throws {
        let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 8082
        let listener = try Listener(.tcp(host: "127.0.0.1", port: port))
        let server = HTTPServer(listeners: [listener], loops: try EventLoopGroup(), responder: SocketHTTPHello())
        await server.run()
    }
}
