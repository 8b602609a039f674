package import HTTPTypes

/// A handler's answer.
///
/// The server adds `Date` unless it is there, and alone decides about `Content-Length`, `Transfer-Encoding` and
/// `Connection`. For `HEAD`, answer as for `GET`: the length is told and the body is dropped; only if the body is empty
/// does a `Content-Length` of the handler count.
package struct Response: Sendable {
    /// Writes a body of unknown length, on the loop of its connection: HTTP/1.1 has it in chunks, HTTP/1.0 until the
    /// connection closes. It runs after the head is out, for as long as it likes, and not at all for `HEAD`.
    ///
    /// Returning ends the body; throwing cuts it off, so that the client sees that it is not complete.
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
