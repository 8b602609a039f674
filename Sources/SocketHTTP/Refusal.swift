package import HTTPTypes

/// The reason why the server itself answers a request, in place of the handler. The connection is
/// closed afterwards.
package enum Refusal: Error, Hashable {
    /// The request is not HTTP, or is so ambiguous that another parser might read it differently.
    /// The text gives the reason without quoting the request.
    case badRequest(String)
    case targetTooLong
    case headerTooLarge
    case bodyTooLarge
    case expectationFailed
    case notImplemented
    case versionNotSupported
    case timedOut
    case overloaded
    /// The client's address already has the maximum number of connections for one address.
    case tooManyConnections
    /// The handler did not answer in time.
    case handlerTooSlow

    package var status: HTTPResponse.Status {
        switch self {
        case .badRequest: .badRequest
        case .targetTooLong: .uriTooLong
        case .headerTooLarge: .requestHeaderFieldsTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .expectationFailed: .expectationFailed
        case .notImplemented: .notImplemented
        case .versionNotSupported: .httpVersionNotSupported
        case .timedOut: .requestTimeout
        case .overloaded, .tooManyConnections, .handlerTooSlow: .serviceUnavailable
        }
    }

    /// A sentence for people. It quotes nothing, so it is safe to send.
    package var detail: String {
        switch self {
        case .badRequest(let detail): detail
        case .targetTooLong: "The request target is too long."
        case .headerTooLarge: "The header fields are too large or too many."
        case .bodyTooLarge: "The request's body is too large."
        case .expectationFailed: "The only supported expectation is 100-continue."
        case .notImplemented: "The method or the transfer coding is not implemented."
        case .versionNotSupported: "Only HTTP/1.1 and HTTP/1.0 are supported."
        case .timedOut: "The request took too long to arrive."
        case .overloaded: "The server has too many connections; try again later."
        case .tooManyConnections: "There are too many connections from this address."
        case .handlerTooSlow: "The server took too long; the request may or may not have taken effect."
        }
    }
}
