/// Where a connection stands: each lives in one of these at a time.
enum ConnectionState {
    /// Nothing of a request has come since `Connection.mark`.
    case idle
    /// A head is on its way, and is due by `Connection.mark`.
    case reading
    /// A handler is at work.
    case handling
    /// The client has had an answer in place of the handler's, which still runs.
    case overdue
    /// An answer is on its way.
    case answering
    /// A handler writes a streaming body.
    case streaming(BodyWriter)
    /// The last write is incomplete, so nothing can follow it.
    case lost
}

/// How much of a request's body is still to come.
enum BodyState {
    case whole
    /// The client waits for leave to send it.
    case awaitingLeave(BodyFraming)
    /// Not zero.
    case length(Int)
    case chunked(ChunkDecoder)
    /// Its end cannot be found any more, so no request can follow.
    case broken

    init(_ framing: BodyFraming, trailerBytes: Int) {
        switch framing {
        case .none: self = .whole
        case .length(let length): self = .length(length)
        case .chunked: self = .chunked(ChunkDecoder(trailerBytes: trailerBytes))
        }
    }

    /// How many bytes more would be welcome.
    var expected: Int {
        switch self {
        case .whole, .awaitingLeave, .broken: 1
        case .length(let remaining): remaining
        case .chunked: .max
        }
    }
}
