internal import HTTPTypes
internal import SocketHTTP

/// Ties an answer to its lines in the log.
struct RequestID: Sendable, CustomStringConvertible {
    let description: String

    /// The client's own, if it is 1 to 128 of `[A-Za-z0-9_-]`, else a new random one.
    init(_ head: RequestHead?) {
        if let sent = head?[.requestID], (1...128).contains(sent.utf8.count), sent.utf8.allSatisfy(Self.isAllowed) {
            self.description = sent
        } else {
            self.description = String(UInt64.random(in: 0 ... .max), radix: 36)
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
