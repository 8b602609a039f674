internal import Bytes
package import HTTPTypes

/// The parsed request line and fields, together with the bytes that the server received.
struct RequestParts: Sendable {
    /// One field line.
    struct Line: Sendable {
        let name: ByteRange
        let value: ByteRange
    }

    var method = HTTPRequest.Method.get
    var bytes: [UInt8] = []
    var lines: [Line] = []
    /// A set of the lengths of all field names, with one bit for each length. Lengths of 63 and
    /// more share one bit. This set alone shows for most lookups that the field is missing.
    var nameLengths: UInt64 = 0
    var place = RequestTarget.root
    var isVersion10 = false
    var body = BodyFraming.none
    var keepsAlive = true
    var expectsContinue = false
    /// The value of the field `Host`, which occurs at most once.
    var host: ByteRange?

    // The properties below are in this struct, because in the class `RequestHead` each call would
    // retain the array of bytes.

    /// Whether a field's name begins with `If-`, as the names of all conditional fields do.
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

    /// Whether the request has `Origin` or `Sec-Fetch-Site`: in these fields, a browser describes
    /// the page that has sent the request. One loop over the names finds either field, because the
    /// server needs this value for each request.
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
        // The storage is contiguous: all names are native strings. A variable for `withUTF8` would
        // count a reference.
        canonicalName.utf8.withContiguousStorageIfAvailable { wanted in
            let (bytes, lines) = (self.bytes.span, self.lines.span)
            for number in lines.indices where lines[number].name.count == wanted.count {
                let line = lines[number]
                if bytes.equals(line.name, anyCase: UnsafeRawBufferPointer(wanted)) { body(line.value) }
            }
        }
    }

    static func lengthBit(_ count: Int) -> UInt64 { 1 &<< UInt64(min(count, 63)) }
}

/// A request's line and fields. Only the parts that a caller reads become strings.
///
/// The head is a class, because many functions pass it on.
package final class RequestHead: Sendable {
    let parts: RequestParts

    init(_ parts: RequestParts) {
        self.parts = parts
    }

    /// Parses a whole head, for tests of handlers. `nil` unless the server would accept the head.
    ///
    /// ```swift
    /// RequestHead("GET /healthz HTTP/1.1\r\nHost: example\r\n\r\n")
    /// ```
    package convenience init?(_ text: String, limits: ServerLimits = ServerLimits()) {
        let bytes = Array(text.utf8)
        var parser = HeadParser(limits: limits)
        // A test that needs a head does not need the reason why the parser refused it.
        guard (try? parser.parse(bytes.span)) == bytes.count else { return nil }
        self.init(parser.parts)
    }

    package var method: HTTPRequest.Method { self.parts.method }
    var isVersion10: Bool { self.parts.isVersion10 }
    var body: BodyFraming { self.parts.body }
    var keepsAlive: Bool { self.parts.keepsAlive }
    var expectsContinue: Bool { self.parts.expectsContinue }

    // MARK: Target

    /// Path and query as the client sent them. The form is origin-form, even if the client sent
    /// absolute-form; for asterisk-form it is `*`.
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

    /// The part of the target after the question mark, still percent-encoded.
    package var query: String? {
        self.parts.place.query.map(self.string)
    }

    /// The host and port that the client addressed, in the client's spelling: from absolute-form,
    /// or else from `Host`. A request of HTTP/1.0 may have neither.
    package var authority: String? {
        (self.parts.place.authority ?? self.parts.host).map(self.string)
    }

    // MARK: Fields

    /// The number of field lines.
    package var count: Int { self.parts.lines.count }

    /// The field's value. If several lines have the name, commas join their values. Invalid UTF-8
    /// is replaced.
    package subscript(_ name: HTTPField.Name) -> String? {
        var value: String?
        self.parts.forEachValue(of: name.canonicalName) { range in
            value = value.map { "\($0), \(self.string(range))" } ?? self.string(range)
        }
        return value
    }

    /// The values of all lines with this field name.
    package func values(_ name: HTTPField.Name) -> [String] {
        self.values(canonicalName: name.canonicalName)
    }

    /// The values of all lines with this field name, which must be in lower case.
    func values(canonicalName: String) -> [String] {
        var values: [String] = []
        self.parts.forEachValue(of: canonicalName) { values.append(self.string($0)) }
        return values
    }

    /// For these two properties, see `RequestParts`.
    package var isConditional: Bool { self.parts.isConditional }
    package var namesItsPage: Bool { self.parts.namesItsPage }

    package func count(of name: HTTPField.Name) -> Int {
        self.count(canonicalName: name.canonicalName)
    }

    /// The number of lines with this field name, which must be in lower case.
    func count(canonicalName: String) -> Int {
        var count = 0
        self.parts.forEachValue(of: canonicalName) { _ in count += 1 }
        return count
    }

    /// Calls `body` with the bytes of the field's value. Returns `nil`, and does not call `body`,
    /// if the field is missing or occurs more than once.
    package func withOnlyValue<Value>(of name: HTTPField.Name, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        var (count, value) = (0, ByteRange(0, 0))
        self.parts.forEachValue(of: name.canonicalName) { (count, value) = (count + 1, $0) }
        guard count == 1 else { return nil }
        return self.parts.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[value.range])) }
    }

    /// Names and values of all fields in the order of the request, for logs and tests.
    package var fields: [(name: String, value: String)] {
        self.parts.lines.map { (self.string($0.name), self.string($0.value)) }
    }

    // MARK: - Private

    private func string(_ range: ByteRange) -> String {
        String(decoding: self.parts.bytes[range.range], as: UTF8.self)
    }
}
