/// How a server reads a stream of requests.
struct Verdict: Sendable, CustomStringConvertible {
    enum Ending: String {
        /// The server has read the whole stream, and waits for more bytes.
        case waiting
        /// The server ends the connection after the last request, because the request demands this
        /// or implies it.
        case closed
        /// The server refuses the bytes after the last request.
        case refused
    }

    var ending: Ending
    /// The reason for the ending, for human readers.
    var reason = ""
    /// The complete requests, each as `METHOD authority target version`, its fields, an empty line
    /// and its body.
    var requests: [[UInt8]] = []

    var description: String {
        "\(self.ending.rawValue) (\(self.reason)) after \(self.requests.map { String(latin1: $0) })"
    }

    /// Returns all verdicts of a file that `h11_oracle.py` has written; `nil` if the file has
    /// another format.
    static func all(_ bytes: [UInt8]) -> [Verdict]? {
        var reader = Reader(bytes: bytes)
        var verdicts: [Verdict] = []
        while reader.hasMore {
            guard
                let ending = reader.text().flatMap({ Ending(rawValue: String(latin1: $0)) }),
                let reason = reader.text(),
                let count = reader.number()
            else { return nil }
            var verdict = Verdict(ending: ending, reason: String(latin1: reason))
            for _ in 0..<count {
                guard let request = reader.text() else { return nil }
                verdict.requests.append(Array(request))
            }
            verdicts.append(verdict)
        }
        return verdicts
    }

    private struct Reader {
        let bytes: [UInt8]
        private var offset = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        var hasMore: Bool { self.offset < self.bytes.count }

        mutating func number() -> Int? {
            guard self.bytes.count - self.offset >= 4 else { return nil }
            defer { self.offset += 4 }
            return self.bytes[self.offset..<self.offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }

        mutating func text() -> ArraySlice<UInt8>? {
            guard let count = self.number(), self.bytes.count - self.offset >= count else { return nil }
            defer { self.offset += count }
            return self.bytes[self.offset..<self.offset + count]
        }
    }
}
