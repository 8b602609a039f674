@testable import SocketHTTP

/// A stream of request bytes, and the expected bytes of the answer.
struct WireRow: Sendable, CustomStringConvertible {
    /// The state of the connection after the answers.
    enum Ending: Sendable {
        /// The server accepts another request.
        case open
        /// The server ends the connection, although the client has not demanded it.
        case closed
        /// The server ends the connection because the client demands it. The server never reads
        /// what the client sends afterwards.
        case closedAsAsked
        /// The client ends its side after the last byte, and the server sends nothing more.
        case cutOff
    }

    let description: String
    let ending: Ending
    /// All bytes that the client sends. If the connection stays open, they end with one more
    /// request.
    let sent: [UInt8]
    /// All bytes that the server sends, without `100 Continue`.
    let answer: [UInt8]
    /// The bytes of `answer` with `100 Continue` before the answers that may begin with it.
    let answerWithLeave: [UInt8]
    /// The offset in `sent` at which a client pauses until `100 Continue` arrives; `nil` if no
    /// client waits.
    private let stop: Int?

    /// If `ending` is `nil`, the last answer determines whether the connection ends.
    init(_ description: String, _ stream: String, _ answers: Answer..., then ending: Ending? = nil) {
        self.description = description
        self.ending = ending ?? (answers.last?.closes == true ? .closed : .open)
        let isOpen = self.ending == .open
        self.sent = stream.latin1 + (isOpen ? Self.next : [])
        let all = answers + (isOpen ? [Self.nextAnswer] : [])
        self.answer = all.filter { !$0.isLeave }.flatMap(\.bytes)
        self.answerWithLeave = all.flatMap(\.bytes)
        self.stop = all.contains(where: \.isLeave) ? self.sent.firstRange(of: "\r\n\r\n".latin1)?.upperBound : nil
    }

    /// Returns the answers that the server may give to portions with these borders.
    ///
    /// A client that pauses before its body must get `100 Continue`; a client that has sent the
    /// whole body at once must not. If a part of the body has arrived, the server may do either
    /// (RFC 9110 §10.1.1).
    func answers(_ borders: [Int]) -> [[UInt8]] {
        guard let stop else { return [self.answer] }
        if borders.contains(stop) || stop == self.sent.count { return [self.answerWithLeave] }
        return (borders.last ?? 0) < stop ? [self.answer] : [self.answer, self.answerWithLeave]
    }

    private static let next = "GET /next HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n".latin1
    private static let nextAnswer = Answer.ok("GET /next @n", "Connection: close").closing

    /// Small limits, so that the rows at the limits stay short. On a busy machine a stream that
    /// arrives byte by byte takes long.
    static let limits = ServerLimits {
        ($0.targetBytes, $0.headerBytes, $0.headerCount, $0.bodyBytes) = (64, 512, 8, 32)
        ($0.headerTimeout, $0.bodyTimeout) = (.seconds(3600), .seconds(3600))
    }

    static let all =
        Self.requestLines + Self.targets + Self.lineEnds + Self.fields + Self.hosts + Self.lengths
        + Self.transferCodings + Self.chunks + Self.expectations + Self.persistence + Self.sizes
}
