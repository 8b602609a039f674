/// The reason why a call has no response, classified by what the caller can conclude.
package enum OutboundError: Error, Sendable, Hashable {
    /// The request is invalid; nothing was sent.
    case badRequest(String)
    /// The URL's host is not among the allowed hosts; nothing was sent.
    case hostNotAllowed
    /// The host's name resolves only to addresses that the policy refuses; nothing was sent.
    case refusedAddress
    /// No connection could be opened; nothing was sent.
    case couldNotConnect(String)
    /// The peer's certificate was not accepted, or the TLS handshake failed; nothing was sent.
    case tls(String)
    /// The deadline passed; whether the peer has acted on the request is not known.
    case timedOut
    /// The connection or stream ended early; whether the peer has acted on the request is not
    /// known.
    case interrupted(String)
    /// The peer's response is larger than the client accepts.
    case responseTooLarge
    /// More calls are in progress than the client accepts; nothing was sent.
    case overloaded
    /// The caller's task was cancelled.
    case cancelled
    /// The client is closed.
    case closed
}

extension OutboundError: CustomStringConvertible {
    /// The text is safe to log and to store: it has no headers, no bodies and no addresses.
    package var description: String {
        switch self {
        case .badRequest(let detail): "bad request: \(detail)"
        case .hostNotAllowed: "the host is not in allowedHosts"
        case .refusedAddress: "the host has only addresses that are not public"
        case .couldNotConnect(let detail): "could not connect: \(detail)"
        case .tls(let detail): "TLS failed: \(detail)"
        case .timedOut: "timed out"
        case .interrupted(let detail): "connection lost: \(detail)"
        case .responseTooLarge: "response too large"
        case .overloaded: "too many concurrent calls"
        case .cancelled: "cancelled"
        case .closed: "client closed"
        }
    }
}
