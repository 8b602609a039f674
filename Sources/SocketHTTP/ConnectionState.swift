/// The state of a connection.
enum ConnectionState {
    /// No byte of a request has arrived since `Connection.mark`.
    case idle
    /// A head is arriving, and is due by `Connection.mark`.
    case reading
    /// A handler is running.
    case handling
    /// The client has been answered in place of the handler, which still runs.
    case overdue
    /// An answer is being sent.
    case answering
    /// A handler writes a streaming body.
    case streaming(BodyWriter)
    /// The last write is incomplete, so no bytes can follow it.
    case lost
}

/// How much of a request's body is still to come.
enum BodyState {
    case whole
    /// The client waits for 100 Continue before it sends the body.
    case awaitingLeave(BodyFraming)
    /// Not zero.
    case length(Int)
    case chunked(ChunkDecoder)
    /// The end of the body can no longer be found, so no request can follow.
    case broken

    init(_ framing: BodyFraming, trailerBytes: Int) {
        switch framing {
        case .none: self = .whole
        case .length(let length): self = .length(length)
        case .chunked: self = .chunked(ChunkDecoder(trailerBytes: trailerBytes))
        }
    }

    /// How many bytes to make room for in the next read.
    var expected: Int {
        switch self {
        case .whole, .awaitingLeave, .broken: 1
        case .length(let remaining): remaining
        case .chunked: .max
        }
    }
}
