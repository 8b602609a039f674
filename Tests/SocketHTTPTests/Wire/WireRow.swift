@testable import SocketHTTP

/// A stream of request bytes, and the bytes that answer it.
struct WireRow: Sendable, CustomStringConvertible {
    /// What becomes of the connection after the answers.
    enum Ending: Sendable {
        /// It takes another request.
        case open
        /// The server ends it, though the client has not.
        case closed
        /// As the client has asked; what it sends nevertheless is never looked at.
        case closedAsAsked
        /// The client ends its side after the last byte, and the server has nothing more to say.
        case cutOff
    }

    let description: String
    let ending: Ending
    /// What the client sends in all: a connection is open if it takes another request.
    let sent: [UInt8]
    /// What the server sends in all, without leave to send a body.
    let answer: [UInt8]
    /// The same with the leave that some answers begin with.
    let answerWithLeave: [UInt8]
    /// Where a client stops that waits for leave.
    private let stop: Int?

    /// Unless told otherwise, the connection ends as the last answer says.
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

    /// What may be answered to portions with these borders.
    ///
    /// A client that stops before its body has to get leave, one that has sent it at once must not. In between the
    /// server may do either (RFC 9110 §10.1.1).
    func answers(_ borders: [Int]) -> [[UInt8]] {
        guard let stop else { return [self.answer] }
        if borders.contains(stop) || stop == self.sent.count { return [self.answerWithLeave] }
        return (borders.last ?? 0) < stop ? [self.answer] : [self.answer, self.answerWithLeave]
    }

    private static let next = "GET /next HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n".latin1
    private static let nextAnswer = Answer.ok("GET /next @n", "Connection: close").closing

    /// Small, so that the rows at the limits stay short.
    static let limits = ServerLimits(targetBytes: 64, headerBytes: 512, headerCount: 8, bodyBytes: 32)

    static let all =
        Self.requestLines + Self.targets + Self.lineEnds + Self.fields + Self.hosts + Self.lengths
        + Self.transferCodings + Self.chunks + Self.expectations + Self.persistence + Self.sizes
}
