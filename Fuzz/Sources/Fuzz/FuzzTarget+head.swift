import HTTPTypes

@testable import SocketHTTP

extension FuzzTarget {
    /// The head of a request: a new parser gets the same result from the whole head. This holds
    /// however it is split into portions, and after any earlier request of the connection.
    static func head(_ bytes: [UInt8]) throws {
        let expected = HeadOutcome(of: bytes, in: .whole, parser: HeadParser(limits: HeadOutcome.limits))
        for portions in Portions.allCases {
            let outcome = HeadOutcome(of: bytes, in: portions, parser: HeadOutcome.usedParser)
            try require(outcome == expected, "\(outcome), read in portions, is \(expected)")
        }
    }
}

/// The result of a parser.
private struct HeadOutcome: Equatable {
    /// Low limits, so that short inputs reach them.
    static let limits = ServerLimits { ($0.targetBytes, $0.headerBytes, $0.headerCount) = (96, 448, 6) }

    /// A parser that has read another request, as different as possible from the initial state.
    static let usedParser: HeadParser = {
        let text = """
            OPTIONS http://[::1]:8080/before/\(String(repeating: "x", count: 40))?before HTTP/1.0\r
            Host: before\r
            Connection: keep-alive\r
            Content-Length: 5\r\n\r\n
            """
        var parser = HeadParser(limits: Self.limits)
        do throws(Refusal) {
            _ = try parser.parse(Array(text.utf8).span)
        } catch {
            preconditionFailure("the request before is a good one, not \(error)")
        }
        parser.reset()
        return parser
    }()

    var length: Int?
    var refusal: Refusal?
    /// `nil` unless the whole head was read; no caller uses other heads.
    var head: Head?

    struct Head: Equatable {
        let method: HTTPRequest.Method
        let target: String
        let place: RequestTarget
        let authority: String?
        let fields: [String]
        let host: ByteRange?
        let isVersion10: Bool
        let body: BodyFraming
        let keepsAlive: Bool
        let expectsContinue: Bool

        init(_ head: RequestHead) {
            self.method = head.method
            self.target = head.target
            self.place = head.parts.place
            self.authority = head.authority
            self.fields = head.fields.flatMap { [$0.name, $0.value] }
            self.host = head.parts.host
            self.isVersion10 = head.isVersion10
            self.body = head.body
            self.keepsAlive = head.keepsAlive
            self.expectsContinue = head.expectsContinue
        }
    }

    init(of bytes: [UInt8], in portions: Portions, parser: HeadParser) {
        var parser = parser
        do throws(Refusal) {
            for end in portions.ends(of: bytes) where self.length == nil {
                self.length = try parser.parse(bytes.span.extracting(..<end))
            }
        } catch {
            self.refusal = error
        }
        self.head = parser.fieldsAreRead ? Head(parser.head) : nil
    }
}
