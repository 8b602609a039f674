package import HTTPTypes

/// A handler's answer.
///
/// The server adds `Date` if it is missing, and always sets `Content-Length`, `Transfer-Encoding`
/// and `Connection` itself. For `HEAD`, answer as for `GET`: the server sends the length and drops
/// the body; a handler's own `Content-Length` counts only for `HEAD` with an empty body.
package struct Response: Sendable {
    /// Writes a body of unknown length, on the loop of its connection: chunked in HTTP/1.1, until
    /// the connection closes in HTTP/1.0. It runs after the server has sent the head, without a
    /// time limit. It does not run for `HEAD`.
    ///
    /// Returning ends the body. Throwing cuts it off, so that the client sees that it is
    /// incomplete.
    package typealias StreamingBody = @Sendable (BodyWriter) async throws -> Void

    package var status: HTTPResponse.Status
    package var fields: ResponseFields
    package var body: [UInt8]
    /// Writes the body piece by piece, in place of `body`.
    package var streamingBody: StreamingBody?
    /// Ends the connection after this response.
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
