internal import Bytes
internal import HTTPTypes
internal import Logging
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Ties an answer to its lines in the log.
struct RequestID: Sendable, CustomStringConvertible {
    let description: String
    /// What the request is a part of elsewhere; `nil` if it does not say, or says it wrongly.
    let trace: TraceID?

    /// The start of this process's ids: random, so that no two processes give the same ids.
    private static let start = String(UInt64.random(in: 0 ... .max), radix: 36)
    private static let count = Atomic<UInt64>(0)

    /// The client's own, if it is 1 to 128 of `[A-Za-z0-9_-]`, else the next of this process.
    init(_ head: RequestHead?) {
        if let sent = head?[.requestID], (1...128).contains(sent.utf8.count), sent.utf8.allSatisfy(Self.isAllowed) {
            self.description = sent
        } else {
            let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
            self.description = "\(Self.start)-\(number)"
        }
        // Two of them are as good as none: nobody knows which one is true.
        self.trace = head.flatMap { head in
            head.count(of: .traceParent) == 1 ? head[.traceParent].flatMap { TraceID(traceparent: $0) } : nil
        }
    }

    /// The fields that each line about the request has.
    var fields: Logger.Metadata {
        var fields: Logger.Metadata = ["request": "\(self.description)"]
        if let trace { fields["trace"] = "\(trace)" }
        return fields
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}
