internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

extension PushServer {
    static let webPushRoutes = [
        Route(.get, Paths.webPushKey, .atLeast(.device, .register)) { server, _ in try server.webPushKey() }
    ]

    /// What a page passes to `subscribe`. Not cached: a page with an old key would make subscriptions that are none.
    private func webPushKey() throws -> Response {
        guard let key = self.settings.applicationServerKey else {
            throw Problem(.notFound, "no sender of type webpush is configured")
        }
        return Response(uncached: .object([.init("Key", .string(key))]))
    }
}
