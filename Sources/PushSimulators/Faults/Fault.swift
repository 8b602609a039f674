/// A fault in the exchange of requests and answers between a simulated provider and its senders.
package enum Fault: Sendable, Hashable {
    // MARK: Of a request

    /// Gives this answer to any request, without a check of the request.
    case answer(status: Int, retryAfter: RetryAfter? = nil, body: String? = nil)
    /// Handles this request and all earlier ones, and accepts no later request: GOAWAY, RFC 9113
    /// section 6.8. `reason` is in the frame's debug data, as Apple sends it.
    case goAway(reason: String? = nil)
    /// Sends a GOAWAY that excludes this request and all later ones, and handles no excluded
    /// request.
    case goAwayBefore(reason: String? = nil)
    /// Resets the stream, and says that the request was not processed: RFC 9113 section 8.7.
    case refuseStream
    /// Never answers; the connection stays open.
    case noAnswer
    /// Handles the request, and from then on sends the connection's bytes one at a time, with this
    /// pause after each.
    case slow(Duration)
    /// Handles the request, and answers with a body that is not valid JSON.
    case badJSON
    /// Resets the TCP connection without handling the request.
    case reset
    /// Handles the request, then resets the TCP connection: the answer is lost, and the sender
    /// cannot know the outcome.
    case loseAnswer
    /// Handles the request, and closes the TCP connection in the middle of the answer, without
    /// closing TLS.
    case cut

    // MARK: Of a connection

    /// Lets the client send no body (flow control, RFC 9113 section 6.9), and answers nothing.
    case zeroWindow
    /// Completes the TLS handshake, then never reads.
    case stopReading
    /// Never answers the TLS handshake.
    case stopHandshake
    /// Resets the TCP connection as soon as it is established.
    case resetHandshake

    /// The `Retry-After` of an answer, RFC 9110 section 10.2.3.
    package enum RetryAfter: Sendable, Hashable {
        /// A number of seconds.
        case seconds(Int)
        /// The date this many seconds after the answer.
        case dateAfter(seconds: Int)
    }

    /// Whether the fault affects a connection from its start, and not a request.
    package var isOfConnection: Bool {
        switch self {
        case .zeroWindow, .stopReading, .stopHandshake, .resetHandshake: true
        default: false
        }
    }

    /// Whether the simulator handles the request in spite of the fault, so that the device gets
    /// the push.
    package var handlesRequest: Bool {
        switch self {
        case .goAway, .slow, .badJSON, .loseAnswer, .cut: true
        default: false
        }
    }

    /// Whether the sender cannot learn the outcome of the request.
    var losesAnswer: Bool { self == .loseAnswer || self == .cut }

    /// The name of the fault in rules and in logs; the name of an answer is its status.
    package var name: String {
        switch self {
        case .answer(let status, _, _): String(status)
        case .goAway: "goaway"
        case .goAwayBefore: "goaway-before"
        case .refuseStream: "refuse-stream"
        case .noAnswer: "no-answer"
        case .slow: "slow"
        case .badJSON: "bad-json"
        case .reset: "reset"
        case .loseAnswer: "lose-answer"
        case .cut: "cut"
        case .zeroWindow: "zero-window"
        case .stopReading: "stop-reading"
        case .stopHandshake: "stop-handshake"
        case .resetHandshake: "reset-handshake"
        }
    }
}
