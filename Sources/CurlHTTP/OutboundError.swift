/// Why a call has no response, sorted by what the caller can conclude.
package enum OutboundError: Error, Sendable, Hashable {
    /// The request cannot be sent as it is; nothing was.
    case badRequest(String)
    /// The address is not one that the client may call; nothing was sent.
    case hostNotAllowed
    /// The host's name leads only to addresses that the policy refuses; nothing was sent.
    case refusedAddress
    /// No connection; nothing was sent.
    case couldNotConnect(String)
    /// The peer did not prove who it is, or no TLS was agreed on; nothing was sent.
    case tls(String)
    /// The deadline passed; whether the peer has acted on the request is not known.
    case timedOut
    /// The connection or stream ended early; whether the peer has acted on the request is not known.
    case interrupted(String)
    /// The peer answered, with more than the client takes.
    case responseTooLarge
    /// More calls are under way than the client takes; nothing was sent.
    case overloaded
    /// The caller's task was cancelled.
    case cancelled
    /// The client is closed.
    case closed
}

extension OutboundError: CustomStringConvertible {
    /// Safe to log and to store: no headers, no bodies, no addresses.
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
