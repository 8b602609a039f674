internal import Bytes
package import HTTPTypes

/// The parsed request line and fields, with the bytes as received.
struct RequestParts: Sendable {
    /// One field line.
    struct Line: Sendable {
        let name: ByteRange
        let value: ByteRange
    }

    var method = HTTPRequest.Method.get
    var bytes: [UInt8] = []
    var lines: [Line] = []
    /// The lengths of all field names, as one bit for each length; lengths from 63 on share one
    /// bit. Most lookups of missing fields need no more than this set.
    var nameLengths: UInt64 = 0
    var place = RequestTarget.root
    var isVersion10 = false
    var body = BodyFraming.none
    var keepsAlive = true
    var expectsContinue = false
    /// The value of the only `Host`.
    var host: ByteRange?

    // The properties below are in this struct: in the class, each call would retain the bytes.

    /// Whether there is a field whose name begins with `If-`, as all conditional fields do.
    var isConditional: Bool {
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

    /// Whether `Origin` or `Sec-Fetch-Site` is there, with which browsers describe the page that
    /// has sent a request. It makes a single pass over all names, because it runs for each
    /// request.
    var namesItsPage: Bool {
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

    func forEachValue(of canonicalName: String, _ body: (ByteRange) -> Void) {
        guard self.nameLengths & Self.lengthBit(canonicalName.utf8.count) != 0 else { return }
        var canonicalName = canonicalName
        canonicalName.withUTF8 { wanted in
            let (bytes, lines) = (self.bytes.span, self.lines.span)
            for number in lines.indices where lines[number].name.count == wanted.count {
                let line = lines[number]
                // Both names are tokens, and the wanted one is in lower case.
                var index = 0
                while index < wanted.count, bytes[line.name.start + index].lowercased == wanted[index] { index += 1 }
                if index == wanted.count { body(line.value) }
            }
        }
    }

    static func lengthBit(_ count: Int) -> UInt64 { 1 &<< UInt64(min(count, 63)) }
}

/// A request's line and fields. It makes strings only of the parts that a caller reads.
///
/// The head is a class, because many functions pass it on.
package final class RequestHead: Sendable {
    let parts: RequestParts

    init(_ parts: RequestParts) {
        self.parts = parts
    }

    /// Parses a whole head, for handlers' tests. `nil` unless the server would accept it.
    ///
    /// ```swift
    /// RequestHead("GET /healthz HTTP/1.1\r\nHost: example\r\n\r\n")
    /// ```
    package convenience init?(_ text: String, limits: ServerLimits = ServerLimits()) {
        let bytes = Array(text.utf8)
        var parser = HeadParser(limits: limits)
        // A test that needs a head does not need the reason of a refusal.
        guard (try? parser.parse(bytes.span)) == bytes.count else { return nil }
        self.init(parser.parts)
    }

    package var method: HTTPRequest.Method { self.parts.method }
    var isVersion10: Bool { self.parts.isVersion10 }
    var body: BodyFraming { self.parts.body }
    var keepsAlive: Bool { self.parts.keepsAlive }
    var expectsContinue: Bool { self.parts.expectsContinue }

    // MARK: Target

    /// Path and query as sent, in origin-form even if the client sent absolute-form; `*` for
    /// asterisk-form.
    package var target: String {
        guard let query else { return self.path }
        return "\(self.path)?\(query)"
    }

    /// The path, still percent-encoded. It has no dot segments, plain or encoded, and no encoded
    /// slashes, backslashes or control characters. It starts with `/`, or is `*`.
    package var path: String {
        self.parts.place.path.isEmpty ? "/" : self.string(self.parts.place.path)
    }

    /// Calls `body` with the bytes of `path`, for a search that needs no string.
    package func withPath<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        guard !self.parts.place.path.isEmpty else {
            return withUnsafePointer(to: UInt8(ascii: "/")) { body(UnsafeBufferPointer(start: $0, count: 1)) }
        }
        let range = self.parts.place.path.range
        return self.parts.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    /// The text after the question mark, still percent-encoded.
    package var query: String? {
        self.parts.place.query.map(self.string)
    }

    /// The host and port that the client addresses, as sent: from absolute-form, else from `Host`,
    /// which HTTP/1.0 may lack.
    package var authority: String? {
        (self.parts.place.authority ?? self.parts.host).map(self.string)
    }

    // MARK: Fields

    /// The number of field lines.
    package var count: Int { self.parts.lines.count }

    /// The value, several lines joined by a comma; invalid UTF-8 is repaired.
    package subscript(_ name: HTTPField.Name) -> String? {
        var value: String?
        self.parts.forEachValue(of: name.canonicalName) { range in
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
        self.parts.forEachValue(of: canonicalName) { values.append(self.string($0)) }
        return values
    }

    /// `RequestParts` explains these two.
    package var isConditional: Bool { self.parts.isConditional }
    package var namesItsPage: Bool { self.parts.namesItsPage }

    package func count(of name: HTTPField.Name) -> Int {
        var count = 0
        self.parts.forEachValue(of: name.canonicalName) { _ in count += 1 }
        return count
    }

    /// The fields in their order, for logs and tests.
    package var fields: [(name: String, value: String)] {
        self.parts.lines.map { (self.string($0.name), self.string($0.value)) }
    }

    // MARK: - Private

    private func string(_ range: ByteRange) -> String {
        String(decoding: self.parts.bytes[range.range], as: UTF8.self)
    }
}
