package import HTTPTypes

/// What a handler answers.
///
/// The server adds `Date` unless it is there, and alone decides about `Content-Length`, `Transfer-Encoding` and
/// `Connection`. For `HEAD`, answer as for `GET`: the length is told and the body is dropped; only if the body is empty
/// does a `Content-Length` of the handler count.
package struct Response: Sendable {
    package var status: HTTPResponse.Status
    package var fields: ResponseFields
    package var body: [UInt8]
    /// Ends the connection after this response.
    package var closesConnection: Bool

    package init(
        status: HTTPResponse.Status,
        fields: ResponseFields = [:],
        body: [UInt8] = [],
        closesConnection: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.closesConnection = closesConnection
    }
}
