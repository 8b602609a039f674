internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

extension PushServer {
    static let descriptionRoutes = [
        Route(.get, Paths.openAPI, .anybody) { _, call in PushServer.openAPI(for: call.request.head) }
    ]

    /// The same for everybody, so that any cache may keep it, and asks each time, for a kept answer has the echo of
    /// another token.
    private static func openAPI(for head: RequestHead) -> Response {
        var fields: ResponseFields = [.eTag: OpenAPIDocument.tag.description, .cacheControl: "no-cache"]
        if let list = head[.ifNoneMatch], OpenAPIDocument.tag.isNamed(by: list) {
            return Response(status: .notModified, fields: fields)
        }
        fields.append(.contentType, "application/json; charset=utf-8")
        return Response(status: .ok, fields: fields, body: OpenAPIDocument.bytes)
    }
}
