/// The state of a connection to a client.
enum ConnectionState {
    /// No byte of a request has arrived since the instant `Connection.mark`.
    case idle
    /// The head of a request is arriving. The deadline for its end is `Connection.mark`.
    case reading
    /// A handler is running.
    case handling
    /// The server has answered in place of a handler that was too slow. The handler still runs.
    case overdue
    /// An answer is being sent.
    case answering
    /// A handler writes a streaming body.
    case streaming(BodyWriter)
    /// The last write was incomplete, so no further bytes can be sent.
    case lost
}

/// The part of a request's body that has not arrived yet.
enum BodyState {
    case whole
    /// The client waits for 100 Continue before it sends the body.
    case awaitingContinue(BodyFraming)
    /// The number of bytes that have not arrived yet; it is not zero.
    case length(Int)
    case chunked(ChunkDecoder)
    /// The end of the body cannot be found any more, so no further request can be read.
    case broken

    init(_ framing: BodyFraming, trailerBytes: Int) {
        switch framing {
        case .none: self = .whole
        case .length(let length): self = .length(length)
        case .chunked: self = .chunked(ChunkDecoder(trailerBytes: trailerBytes))
        }
    }

    /// The number of bytes that the buffer of the next read should have room for.
    var expected: Int {
        switch self {
        case .whole, .awaitingContinue, .broken: 1
        case .length(let remaining): remaining
        case .chunked: .max
        }
    }
}
