/// How a peer answers; its index counts requests.
package typealias PeerScript = @Sendable (PeerRequest, _ index: Int) -> PeerReply

/// What a peer does with one request.
package enum PeerReply: Sendable {
    case answer(PeerAnswer)
    /// Says that, and holds the connection as a stream's.
    case hold(PeerAnswer)
    /// Ends the connection without a byte.
    case hangUp
    /// Holds the connection and says nothing.
    case silence
}
