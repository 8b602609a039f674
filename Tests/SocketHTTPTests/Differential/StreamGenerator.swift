/// Makes streams of requests by the grammar of RFC 9112; most of the requests are valid. Then
/// mutates some of the streams.
struct StreamGenerator {
    private var random: SeededRandom

    init(seed: UInt64) {
        self.random = SeededRandom(seed: seed)
    }

    /// Returns the next stream, which has up to four requests and up to three mutations.
    mutating func next() -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<self.random.pick([1, 1, 2, 2, 3, 4]) { stream += self.request() }
        for _ in 0..<self.random.pick([0, 0, 0, 0, 1, 1, 1, 1, 2, 3]) { stream.mutate(&self.random) }
        return stream
    }

    // MARK: - Heads

    private mutating func request() -> [UInt8] {
        var text = self.random.happens(2) ? "\r\n" : ""
        text += self.random.happens(90) ? self.random.pick(["GET", "POST", "PUT"]) : self.random.pick(Self.methods)
        text += " "
        text += self.random.happens(85) ? "/" : self.random.pick(Self.targets)
        text += self.random.happens(95) ? " HTTP/1.1\r\n" : self.random.pick(Self.versions)
        let host = self.random.happens(90) ? "h" : self.random.pick(Self.hosts)
        var lines = self.random.happens(98) ? [self.field("Host", host)] : []
        for _ in 0..<self.random.below(3) {
            let (name, value) = self.random.pick(Self.fields)
            lines.append(self.field(name, value))
        }
        let (framing, body) = self.body()
        lines.insert(contentsOf: framing, at: self.random.below(lines.count + 1))
        text += lines.joined() + "\r\n"
        return Array(text.utf8) + body
    }

    private mutating func field(_ name: String, _ value: String) -> String {
        let name = self.random.happens(80) ? name : self.random.pick([name.lowercased(), name.uppercased()])
        return name + self.random.pick([": ", ": ", ": ", ":", ":\t", ":  "]) + value
            + self.random.pick(["\r\n", "\r\n", "\r\n", " \r\n", "\t\r\n"])
    }

    // MARK: - Bodies

    private mutating func body() -> (framing: [String], body: [UInt8]) {
        switch self.random.below(100) {
        case ..<30:
            return ([], [])
        case ..<60:
            let content = self.content()
            let zeros = String(repeating: "0", count: self.random.happens(90) ? 0 : self.random.below(24))
            return ([self.field("Content-Length", "\(zeros)\(content.count)")], content)
        case ..<95:
            return ([self.field("Transfer-Encoding", self.random.pick(Self.chunkedNames))], self.chunks())
        case ..<97:
            return ([self.field("Content-Length", self.random.pick(Self.badLengths))], self.content())
        case ..<99:
            return ([self.field("Transfer-Encoding", self.random.pick(Self.badCodings))], self.chunks())
        default:
            let content = self.random.happens(50) ? self.content() : self.chunks()
            return (
                [self.field("Content-Length", "\(content.count)"), self.field("Transfer-Encoding", "chunked")], content
            )
        }
    }

    /// Returns the content of a body. The server must not interpret it, even if it looks like a
    /// request or a chunk.
    private mutating func content() -> [UInt8] {
        Array(self.random.pick(Self.contents).utf8)
    }

    private mutating func chunks() -> [UInt8] {
        var chunks: [UInt8] = []
        for _ in 0..<self.random.below(3) {
            let content = self.content()
            guard !content.isEmpty else { continue }
            chunks += self.size(content.count) + Array("\r\n".utf8) + content + Array("\r\n".utf8)
        }
        chunks += self.size(0) + Array("\r\n".utf8)
        if self.random.happens(20) { chunks += Array(self.random.pick(Self.trailers).utf8) }
        return chunks + Array("\r\n".utf8)
    }

    private mutating func size(_ size: Int) -> [UInt8] {
        let zeros = String(repeating: "0", count: self.random.happens(90) ? 0 : self.random.below(18))
        let digits = String(size, radix: 16, uppercase: self.random.happens(50))
        return Array((zeros + digits + (self.random.happens(93) ? "" : self.random.pick(Self.extensions))).utf8)
    }
}
