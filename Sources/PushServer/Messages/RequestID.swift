internal import Bytes
internal import HTTPTypes
internal import Logging
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Ties an answer to its lines in the log.
struct RequestID: Sendable, CustomStringConvertible {
    private enum Source {
        case client(String)
        case count(Int)
    }

    private let source: Source
    /// What the request is a part of elsewhere; `nil` if it does not say, or says it wrongly.
    let trace: TraceID?

    static let mostBytes = 128
    /// The start of this process's ids: random, so that no two processes give the same ids.
    private static let start = Array("\(String(UInt64.random(in: 0 ... .max), radix: 36))-".utf8)
    private static let count = Atomic(0)

    /// The client's own, if it is 1 to 128 of `[A-Za-z0-9_-]`, else the next of this process.
    init(_ head: RequestHead) {
        if let sent = head[.requestID], (1...Self.mostBytes).contains(sent.utf8.count),
            sent.utf8.allSatisfy(Self.isAllowed)
        {
            self.source = .client(sent)
        } else {
            self.source = .count(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        }
        // Two of them are as good as none: nobody knows which one is true.
        self.trace =
            head.count(of: .traceParent) == 1 ? head[.traceParent].flatMap { TraceID(traceparent: $0) } : nil
    }

    /// The next of this process.
    init() {
        self.source = .count(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        self.trace = nil
    }

    var description: String {
        var text: [UInt8] = []
        text.append(upTo: Self.mostBytes) { self.write(to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The part that the audit keeps: a UUID is whole, and a client cannot fill the audit by its ids.
    var stored: String { String(self.description.prefix(36)) }

    /// Writes `description` without creating a string: most ids are in an answer only.
    func write(to writer: inout ByteWriter) {
        switch self.source {
        case .client(let sent): writer.write(string: sent)
        case .count(let number):
            writer.write(Self.start)
            writer.write(decimal: number)
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
