internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Returns the server's public key, which browsers need to subscribe to Web Push.
struct WebPushKeyHandler: Handler {
    let settings: ServerSettings

    var routes: [Route] {
        [Route(.get, Paths.webPushKey, .atLeast(.device, .register), query: ["app"], always: self.showKey)]
    }

    /// Returns the key for a page to pass to `subscribe`. Caches may not store it: a browser that
    /// subscribes with an old key would get no pushes.
    private func showKey(_ context: RequestContext) throws -> Response {
        let app = try self.settings.app(named: try Query(context.request.head.query)["app"], for: context.user)
        guard let key = self.settings.applicationServerKey(of: app) else {
            throw Problem(.notFound, "no sender of type webpush is configured")
        }
        return Response(uncached: .object([.init("Key", .string(key))]))
    }
}
