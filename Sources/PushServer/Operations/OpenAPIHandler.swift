internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Serves the OpenAPI description of the server's API.
struct OpenAPIHandler: Handler {
    var routes: [Route] {
        [Route(.get, Paths.openAPI, .anybody, always: self.showDocument)]
    }

    /// Shows the document, which is the same for every client, so that any cache may keep it. A
    /// cache must revalidate the document each time, because a cached answer contains the echo of
    /// another request's `MyToken`.
    private func showDocument(_ context: RequestContext) -> Response {
        var fields: ResponseFields = [.eTag: OpenAPIDocument.tag.description, .cacheControl: "no-cache"]
        if let list = context.request.head[.ifNoneMatch], OpenAPIDocument.tag.isNamed(by: list) {
            return Response(status: .notModified, fields: fields)
        }
        fields.append(.contentType, "application/json; charset=utf-8")
        return Response(status: .ok, fields: fields, body: OpenAPIDocument.bytes)
    }
}
