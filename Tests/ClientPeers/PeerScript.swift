/// A peer's answers; `index` is the number of earlier requests.
package typealias PeerScript = @Sendable (PeerRequest, _ index: Int) -> PeerReply

/// A peer's reaction to one request.
package enum PeerReply: Sendable {
    case answer(PeerAnswer)
    /// Sends the answer and keeps the connection open, as for a stream.
    case hold(PeerAnswer)
    /// Closes the connection without sending a byte.
    case hangUp
    /// Sends the text, which need not be a whole answer, and closes the connection.
    case bytes(String)
    /// Keeps the connection open and sends nothing.
    case silence
}
