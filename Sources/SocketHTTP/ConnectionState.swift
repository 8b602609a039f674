/// The state of a connection.
enum ConnectionState {
    /// No byte of a request has arrived since `Connection.mark`.
    case idle
    /// A head is arriving; its deadline is `Connection.mark`.
    case reading
    /// A handler is running.
    case handling
    /// The server has answered in place of the handler, which still runs.
    case overdue
    /// An answer is being sent.
    case answering
    /// A handler writes a streaming body.
    case streaming(BodyWriter)
    /// The last write is incomplete, so no bytes can follow it.
    case lost
}

/// The part of a request's body that has not arrived yet.
enum BodyState {
    case whole
    /// The client waits for 100 Continue before it sends the body.
    case awaitingContinue(BodyFraming)
    /// The number of missing bytes, which is not zero.
    case length(Int)
    case chunked(ChunkDecoder)
    /// The end of the body cannot be found any more, so no request can follow.
    case broken

    init(_ framing: BodyFraming, trailerBytes: Int) {
        switch framing {
        case .none: self = .whole
        case .length(let length): self = .length(length)
        case .chunked: self = .chunked(ChunkDecoder(trailerBytes: trailerBytes))
        }
    }

    /// The number of bytes for which the next read needs room.
    var expected: Int {
        switch self {
        case .whole, .awaitingContinue, .broken: 1
        case .length(let remaining): remaining
        case .chunked: .max
        }
    }
}
