/// The reason why the server could not read a request's body. The connection ends after the
/// answer.
package enum BodyError: Error, Hashable {
    case tooLarge
    case timedOut
    case malformed
    /// The client has closed the connection, or the request has already been answered.
    case closed

    /// The refusal that the client gets as its answer, as if the server itself had refused the
    /// request.
    package var refusal: Refusal {
        switch self {
        case .tooLarge: .bodyTooLarge
        case .timedOut: .timedOut
        case .malformed: .badRequest("The chunks of the body are malformed.")
        case .closed: .badRequest("The connection ended before the end of the body.")
        }
    }
}
