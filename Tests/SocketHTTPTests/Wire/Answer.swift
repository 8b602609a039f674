/// An expected response in the table of `WireTests`: the bytes that a server with
/// `DescribingResponder` sends.
struct Answer: Sendable {
    private let status: Int
    private let content: String
    private var connection: String?
    /// Whether this is the answer to `HEAD`, which has the content's length, but no content.
    private var isHead = false

    /// Whether the server ends the connection after this answer.
    var closes: Bool { self.connection == "close" }

    var isLeave: Bool { self.status == 100 }

    /// An answer 200 that describes the request. Its first line has the method, the path, `?query`
    /// if there is a query, and `@authority`. Then each field but `Host` follows, and after an
    /// empty line the body.
    static func ok(_ line: String, _ fields: String..., body: String = "") -> Answer {
        var answer = Answer(
            status: 200,
            content: ([line] + fields).joined(separator: "\n") + (body.isEmpty ? "" : "\n\n\(body)")
        )
        answer.isHead = line.hasPrefix("HEAD ")
        return answer
    }

    /// A refusal, after which the connection ends. `fields` is the number of field lines if the
    /// server has read all of them.
    static func refused(_ status: Int, _ detail: String, fields: Int? = nil) -> Answer {
        Answer(status: status, content: fields.map { "\(detail) (\($0) fields)" } ?? detail, connection: "close")
    }

    /// The answer of a handler that could not read the body.
    static func failed(_ status: Int, _ detail: String) -> Answer {
        Answer(status: status, content: detail)
    }

    private init(status: Int, content: String, connection: String? = nil) {
        self.status = status
        self.content = content
        self.connection = connection
    }

    /// This answer with `Connection: close`.
    var closing: Answer { self.with { $0.connection = "close" } }
    /// This answer with `Connection: keep-alive`.
    var keepingAlive: Answer { self.with { $0.connection = "keep-alive" } }
    /// This answer without its content, as for `HEAD`.
    var toHead: Answer { self.with { $0.isHead = true } }

    private func with(_ change: (inout Answer) -> Void) -> Answer {
        var answer = self
        change(&answer)
        return answer
    }

    var bytes: [UInt8] {
        guard !self.isLeave else { return "HTTP/1.1 100 Continue\r\n\r\n".latin1 }
        let content = self.content.latin1
        let head = """
            HTTP/1.1 \(self.status) \(Self.phrases[self.status] ?? "?")\r
            Date: Sun, 06 Nov 1994 08:49:37 GMT\r
            Content-Length: \(content.count)\r
            \(self.connection.map { "Connection: \($0)\r\n" } ?? "")\r\n
            """
        return head.latin1 + (self.isHead ? [] : content)
    }

    /// The interim answer `100 Continue`, for a client that waits for it before it sends the body.
    static let goOn = Answer(status: 100, content: "")

    private static let phrases = [
        200: "OK", 400: "Bad Request", 413: "Content Too Large", 414: "URI Too Long", 417: "Expectation Failed",
        431: "Request Header Fields Too Large", 501: "Not Implemented", 505: "HTTP Version Not Supported",
    ]
}
