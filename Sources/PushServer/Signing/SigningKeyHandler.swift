internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Publishes the public keys that clients use to verify signed answers.
struct SigningKeyHandler: Handler {
    let keys: SigningKeys

    var routes: [Route] {
        [Route(.get, Paths.signatureKeys, .anybody, always: self.showKeys)]
    }

    private func showKeys(_ context: RequestContext) -> Response {
        // No cache may keep the answer, because a cached answer would contain the `MyToken` of
        // another request.
        Response(
            status: .ok,
            fields: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: self.keys.current.published
        )
    }
}
