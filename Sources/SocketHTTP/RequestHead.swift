internal import Bytes
package import HTTPTypes

/// A request's line and fields, as the bytes received; strings are made only of the parts that are read.
package struct RequestHead: Sendable {
    /// One field line.
    struct Line: Sendable {
        let name: ByteRange
        let value: ByteRange
    }

    package internal(set) var method = HTTPRequest.Method.get

    var bytes: [UInt8] = []
    var lines: [Line] = []
    var place = RequestTarget.root
    var isVersion10 = false
    var body = BodyFraming.none
    var keepsAlive = true
    var expectsContinue = false
    /// The line of the only `Host`.
    var host: ByteRange?

    init() {}

    /// Parses a whole head, for handlers' tests. `nil` unless the server would accept it.
    ///
    /// ```swift
    /// RequestHead("GET /healthz HTTP/1.1\r\nHost: example\r\n\r\n")
    /// ```
    package init?(_ text: String, limits: ServerLimits = ServerLimits()) {
        let bytes = Array(text.utf8)
        var parser = HeadParser(limits: limits)
        // A test that needs a head has no use for a refusal's reason.
        guard (try? parser.parse(bytes.span)) == bytes.count else { return nil }
        self = parser.head
    }

    // MARK: Target

    /// Path and query as sent: origin-form, also if the client sent absolute-form; `*` for asterisk-form.
    package var target: String {
        guard let query else { return self.path }
        return "\(self.path)?\(query)"
    }

    /// Still percent-encoded, but without dot segments, in disguise or not, and without encoded slashes, backslashes
    /// and control characters. Starts with `/`, or is `*`.
    package var path: String {
        self.place.path.isEmpty ? "/" : self.string(self.place.path)
    }

    /// Calls `body` with the bytes of `path`: for a search that needs no string.
    package func withPath<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        guard !self.place.path.isEmpty else {
            return withUnsafePointer(to: UInt8(ascii: "/")) { body(UnsafeBufferPointer(start: $0, count: 1)) }
        }
        return self.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[self.place.path.range])) }
    }

    /// The text after the question mark, still percent-encoded.
    package var query: String? {
        self.place.query.map(self.string)
    }

    /// The host and port that the client addresses, as sent: of absolute-form, else of `Host`, which HTTP/1.0 may lack.
    package var authority: String? {
        (self.place.authority ?? self.host).map(self.string)
    }

    // MARK: Fields

    /// The number of field lines.
    package var count: Int { self.lines.count }

    /// The value, several lines joined by a comma; invalid UTF-8 is repaired.
    package subscript(_ name: HTTPField.Name) -> String? {
        var value: String?
        self.forEachValue(of: name.canonicalName) { range in
            value = value.map { "\($0), \(self.string(range))" } ?? self.string(range)
        }
        return value
    }

    /// The value of each line of that name.
    package func values(_ name: HTTPField.Name) -> [String] {
        self.values(canonicalName: name.canonicalName)
    }

    /// The value of each line of that name, which must be in lower case.
    func values(canonicalName: String) -> [String] {
        var values: [String] = []
        self.forEachValue(of: canonicalName) { values.append(self.string($0)) }
        return values
    }

    /// Whether there is a field whose name begins with `If-`, as all conditional fields do.
    package var isConditional: Bool {
        let bytes = self.bytes.span
        for line in self.lines where line.name.count > 3 {
            let start = line.name.start
            guard
                bytes[start + 2] == UInt8(ascii: "-"), bytes[start].lowercased == UInt8(ascii: "i"),
                bytes[start + 1].lowercased == UInt8(ascii: "f")
            else { continue }
            return true
        }
        return false
    }

    /// Whether there is a field by which browsers name the page that has sent a request: `Origin` or `Sec-Fetch-Site`.
    /// One pass over all names, because this runs for each request.
    package var namesItsPage: Bool {
        let bytes = self.bytes.span
        for line in self.lines {
            switch line.name.count {
            case 6 where bytes.equals(line.name, anyCase: "origin"): return true
            case 14 where bytes.equals(line.name, anyCase: "sec-fetch-site"): return true
            default: continue
            }
        }
        return false
    }

    package func count(of name: HTTPField.Name) -> Int {
        var count = 0
        self.forEachValue(of: name.canonicalName) { _ in count += 1 }
        return count
    }

    /// The fields in their order, for logs and tests.
    package var fields: [(name: String, value: String)] {
        self.lines.map { (self.string($0.name), self.string($0.value)) }
    }

    // MARK: - Private

    private func forEachValue(of canonicalName: String, _ body: (ByteRange) -> Void) {
        var canonicalName = canonicalName
        canonicalName.withUTF8 { wanted in
            let (bytes, lines) = (self.bytes.span, self.lines.span)
            for number in lines.indices where lines[number].name.count == wanted.count {
                let line = lines[number]
                // Both are tokens, and the wanted one is in lower case.
                var index = 0
                while index < wanted.count, bytes[line.name.start + index].lowercased == wanted[index] { index += 1 }
                if index == wanted.count { body(line.value) }
            }
        }
    }

    private func string(_ range: ByteRange) -> String {
        String(decoding: self.bytes[range.range], as: UTF8.self)
    }
}
