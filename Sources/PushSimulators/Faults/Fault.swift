/// Something that goes wrong between a provider and those who send to it.
package enum Fault: Sendable, Hashable {
    // MARK: Of a request

    /// Answers with this, whatever the request asks; it is not judged.
    case answer(status: Int, retryAfter: RetryAfter? = nil, body: String? = nil)
    /// Handles it and what has come before, takes nothing after it: GOAWAY, RFC 9113 section 6.8. `reason` is said as
    /// Apple says it, in the frame's debug data.
    case goAway(reason: String? = nil)
    /// GOAWAY that leaves out this request and those after it: none of them is handled.
    case goAwayBefore(reason: String? = nil)
    /// Resets the stream as not processed, RFC 9113 section 8.7.
    case refuseStream
    /// Never answers; the connection stays.
    case noAnswer
    /// Handles it, and from then on sends the connection's bytes one at a time, so long apart.
    case slow(Duration)
    /// Handles it, and answers with a body that is not the JSON it claims to be.
    case badJSON
    /// Resets the TCP connection without having handled it.
    case reset
    /// Handles it, then resets the TCP connection: the answer is lost, and the sender cannot know.
    case loseAnswer
    /// Handles it, and closes the TCP connection in the middle of the answer, without an end of TLS.
    case cut

    // MARK: Of a connection

    /// Allows no body to be sent (flow control, RFC 9113 section 6.9), and answers nothing.
    case zeroWindow
    /// Agrees on TLS, then never reads.
    case stopReading
    /// Never answers the handshake of TLS.
    case stopHandshake
    /// Resets the TCP connection as soon as there is one.
    case resetHandshake

    /// The `Retry-After` of an answer, RFC 9110 section 10.2.3.
    package enum RetryAfter: Sendable, Hashable {
        /// A number of seconds.
        case seconds(Int)
        /// The date so many seconds after the answer.
        case dateAfter(seconds: Int)
    }

    /// Whether it happens to a connection when that is made, and not to a request.
    package var isOfConnection: Bool {
        switch self {
        case .zeroWindow, .stopReading, .stopHandshake, .resetHandshake: true
        default: false
        }
    }

    /// Whether the request is handled all the same, so that its device gets the push.
    package var handlesRequest: Bool {
        switch self {
        case .goAway, .slow, .badJSON, .loseAnswer, .cut: true
        default: false
        }
    }

    /// Whether the sender cannot learn what became of the request.
    var losesAnswer: Bool { self == .loseAnswer || self == .cut }

    /// The word for it in a rule and in a log; a status for an answer.
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
