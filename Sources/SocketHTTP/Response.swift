package import HTTPTypes

/// A handler's answer.
///
/// The server adds `Date` if it is missing, and always sets `Content-Length`, `Transfer-Encoding`
/// and `Connection` itself. To `HEAD`, a handler answers as to `GET`: the server sends the body's
/// length, but not the body. The handler's own `Content-Length` counts only if the request is
/// `HEAD` and the response's body is empty.
package struct Response: Sendable {
    /// Writes a body of unknown length: chunked in HTTP/1.1, and until the connection closes in
    /// HTTP/1.0. The closure runs on the connection's event loop, after the server has sent the
    /// head, and without a time limit. It does not run for `HEAD`.
    ///
    /// The body ends when the closure returns. If the closure throws, the server cuts the body
    /// off, so that the client recognises it as incomplete.
    package typealias StreamingBody = @Sendable (BodyWriter) async throws -> Void

    package var status: HTTPResponse.Status
    package var fields: ResponseFields
    package var body: [UInt8]
    /// The function that writes the body piece by piece; it replaces `body`.
    package var streamingBody: StreamingBody?
    /// Whether the server closes the connection after this response.
    package var closesConnection: Bool

    package init(
        status: HTTPResponse.Status,
        fields: ResponseFields = [:],
        body: [UInt8] = [],
        streamingBody: StreamingBody? = nil,
        closesConnection: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.streamingBody = streamingBody
        self.closesConnection = closesConnection
    }
}
