internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

extension PushServer {
    static let healthRoutes = [
        Route(
            .get,
            "/healthz",
            .anybody,
            always: { _, _ in Response(uncached: .object([.init("Status", .string("alive"))])) }
        ),
        Route(
            .get,
            "/readyz",
            .anybody,
            always: { server, _ in
                let troubles = server.troubles()
                guard troubles.isEmpty else { throw Problem(.busy, troubles.joined(separator: "; ")) }
                return Response(uncached: .object([.init("Status", .string("ready"))]))
            }
        ),
    ]
}
