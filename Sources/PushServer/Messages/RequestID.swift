internal import Bytes
internal import HTTPTypes
internal import Logging
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// The id that connects an answer with its lines in the log.
struct RequestID: Sendable, CustomStringConvertible {
    private enum Source {
        case client(String)
        case count(Int)
    }

    private let source: Source
    /// The place of the request in a trace: the place that the client names, or that of the
    /// request's own span. `nil` if neither exists, or if the client's field `traceparent` is
    /// malformed.
    var trace: TraceContext?

    static let maximumBytes = 128
    /// The prefix of this process's ids: random, so that two processes never make the same id.
    private static let start = Array("\(String(UInt64.random(in: 0 ... .max), radix: 36))-".utf8)
    private static let count = Atomic(0)

    /// Uses the id that the client has sent, if it consists of 1 to 128 characters of
    /// `[A-Za-z0-9_-]`; otherwise, the next id of this process.
    init(_ head: RequestHead) {
        if let sent = head[.requestID], (1...Self.maximumBytes).contains(sent.utf8.count),
            sent.utf8.allSatisfy(Self.isAllowed)
        {
            self.source = .client(sent)
        } else {
            self.source = .count(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        }
        // A repeated `traceparent` is ignored: nobody knows which of its values is right.
        self.trace =
            head.count(of: .traceParent) == 1 ? head[.traceParent].flatMap { TraceContext(traceparent: $0) } : nil
    }

    /// Uses the next id of this process.
    init() {
        self.source = .count(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        self.trace = nil
    }

    var description: String {
        var text: [UInt8] = []
        text.append(upTo: Self.maximumBytes) { self.write(to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The part of the id that the audit stores: as many characters as a UUID has. Longer ids are
    /// cut, so that clients cannot fill the audit with them.
    var stored: String { String(self.description.prefix(36)) }

    /// Writes `description` without creating a string: most ids appear only in an answer.
    func write(to writer: inout ByteWriter) {
        switch self.source {
        case .client(let sent): writer.write(string: sent)
        case .count(let number):
            writer.write(Self.start)
            writer.write(decimal: number)
        }
    }

    /// The fields of each line of the log about the request.
    var fields: Logger.Metadata {
        var fields: Logger.Metadata = ["request": "\(self.description)"]
        if let trace { fields["trace"] = "\(trace.trace)" }
        return fields
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}
