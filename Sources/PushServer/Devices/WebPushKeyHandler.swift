internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Returns the key that browsers subscribe with.
struct WebPushKeyHandler: Handler {
    /// `nil` without a sender of Web Push.
    let key: String?

    var routes: [Route] {
        [Route(.get, Paths.webPushKey, .atLeast(.device, .register), always: self.showKey)]
    }

    /// Returns the key for a page to pass to `subscribe`. Not cached: a page with an old key would make subscriptions
    /// that fail.
    private func showKey(_ context: RequestContext) throws -> Response {
        guard let key else { throw Problem(.notFound, "no sender of type webpush is configured") }
        return Response(uncached: .object([.init("Key", .string(key))]))
    }
}
