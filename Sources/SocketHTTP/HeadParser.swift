internal import Bytes
internal import Glibc
internal import HTTPTypes

/// Parses the head of a request, strictly by RFC 9112, from bytes that may arrive in portions of
/// any size.
///
/// ```swift
/// var parser = HeadParser(limits: limits)
/// while try parser.parse(unread) == nil { /* get more */ }
/// use(parser.head)
/// parser.reset()
/// ```
/// The parser reads no socket and no clock, and its result does not depend on the portions' sizes.
struct HeadParser {
    /// The parsed parts of the head. They are valid once `parse` has returned a length. They are
    /// also valid if `parse` has thrown and `fieldsAreRead` is `true`.
    private(set) var parts = RequestParts()
    /// Whether the parser has read the whole head, even if it refused the head.
    private(set) var fieldsAreRead = false

    private let limits: ServerLimits
    private var lineStart = 0
    private var searched = 0
    private var requestLineIsRead = false

    init(limits: ServerLimits) {
        self.limits = limits
    }

    var head: RequestHead { RequestHead(self.parts) }

    /// Prepares for the next request. It reuses the memory of the last head, unless other code
    /// still refers to that head.
    mutating func reset() {
        self.parts.lines.removeAll(keepingCapacity: true)
        self.parts.nameLengths = 0
        self.parts.place = .root
        self.parts.host = nil
        self.fieldsAreRead = false
        self.lineStart = 0
        self.searched = 0
        self.requestLineIsRead = false
    }

    /// Releases the memory of an unusually long head. The connection calls this before a wait that
    /// may be long.
    mutating func release() {
        if self.parts.bytes.capacity > InputBuffer.usualSize { self.parts.bytes = [] }
    }

    /// Continues to parse. `bytes` contains the whole request from its start, including the bytes
    /// of earlier calls.
    ///
    /// Returns the length of the head once the head is complete, and `nil` before.
    mutating func parse(_ bytes: Span<UInt8>) throws(Refusal) -> Int? {
        if try self.mayBeProxyHeader(bytes) { return nil }
        try self.checkFirstByte(bytes)
        while let lineFeed = self.nextLineFeed(bytes) {
            try self.checkLimits(lineFeed + 1)
            guard lineFeed > self.lineStart, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
                throw .badRequest("A line ends without a carriage return.")
            }
            let line = ByteRange(self.lineStart, lineFeed - 1)
            self.lineStart = lineFeed + 1
            if !self.requestLineIsRead {
                // RFC 9112 §2.2: old clients send an empty line before the request by mistake. The
                // server ignores this line.
                if line.isEmpty, line.start == 0 {
                    try self.checkFirstByte(bytes)
                    continue
                }
                try self.readRequestLine(bytes, line)
            } else if !line.isEmpty {
                try self.readField(bytes, line)
            } else {
                try self.finish(bytes.extracting(..<self.lineStart))
                return self.lineStart
            }
        }
        try self.checkLimits(bytes.count)
        return nil
    }

    // MARK: - Lines

    private mutating func nextLineFeed(_ bytes: Span<UInt8>) -> Int? {
        let start = self.searched
        let index = bytes.withUnsafeBufferPointer { bytes -> Int? in
            guard
                let base = bytes.baseAddress.map(UnsafeRawPointer.init),
                let found = memchr(base + start, 0x0A, bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
        self.searched = index.map { $0 + 1 } ?? bytes.count
        return index
    }

    /// Refuses a request that does not begin like HTTP, such as a TLS greeting. It does so at the
    /// first byte, since such a request may never contain a line end.
    private func checkFirstByte(_ bytes: Span<UInt8>) throws(Refusal) {
        guard !self.requestLineIsRead, self.lineStart < bytes.count else { return }
        guard ByteSet.token.contains(bytes[self.lineStart]) || self.mayBeEmptyLine(bytes) else {
            throw .badRequest("The request does not start with a method.")
        }
    }

    /// Refuses lines and heads that are too long, even before their end has arrived. So the result
    /// does not depend on the sizes of the portions that arrive.
    private func checkLimits(_ count: Int) throws(Refusal) {
        if !self.requestLineIsRead {
            // The limit of the first line includes room for a method and a version.
            let longest = min(self.limits.targetBytes + 64, self.limits.headerBytes)
            guard count - self.lineStart <= longest else { throw .targetTooLong }
        } else {
            guard count <= self.limits.headerBytes else { throw .headerTooLarge }
        }
    }

    /// Refuses a PROXY header of version 2, which begins with two empty lines. Returns whether the
    /// bytes may become such a header.
    private func mayBeProxyHeader(_ bytes: Span<UInt8>) throws(Refusal) -> Bool {
        guard !self.requestLineIsRead, bytes.count > 2, bytes[0] == 0x0D else { return false }
        let signature = ProxyHeader.signature
        for index in 0..<min(bytes.count, signature.count) where bytes[index] != signature[index] { return false }
        guard bytes.count < signature.count else { throw Self.untrustedProxy }
        return true
    }

    private static let untrustedProxy = Refusal.badRequest(
        "This peer is not one of the trusted proxies, whose PROXY headers the server reads."
    )

    private func mayBeEmptyLine(_ bytes: Span<UInt8>) -> Bool {
        guard self.lineStart == 0 else { return false }
        return bytes[0] == 0x0D && (bytes.count == 1 || bytes[1] == 0x0A)
    }

    private mutating func readRequestLine(_ bytes: Span<UInt8>, _ line: ByteRange) throws(Refusal) {
        var index = bytes.end(of: line) { ByteSet.token.contains($0) }
        let method = ByteRange(line.start, index)
        guard !method.isEmpty, index < line.end, bytes[index] == 0x20 else {
            throw .badRequest("The method is invalid.")
        }
        guard !bytes.equals(method, "PROXY") else { throw Self.untrustedProxy }
        let targetStart = index + 1
        index = bytes.endOfVisible(ByteRange(targetStart, line.end))
        guard index < line.end, bytes[index] == 0x20 else { throw .badRequest("The request line is malformed.") }
        let target = ByteRange(targetStart, index)
        try self.readVersion(bytes, ByteRange(index + 1, line.end))
        guard target.count <= self.limits.targetBytes else { throw .targetTooLong }

        guard let method = Self.knownMethod(bytes, method) ?? HTTPRequest.Method(rawValue: bytes.string(method)) else {
            throw .badRequest("The method is invalid.")
        }
        self.parts.method = method
        // The target of CONNECT has a grammar of its own, and is not parsed: the server does not
        // implement this method, and refuses it later.
        if self.parts.method != .connect {
            self.parts.place = try RequestTarget(bytes, target, isOptions: self.parts.method == .options)
        }
        self.requestLineIsRead = true
    }

    private mutating func readVersion(_ bytes: Span<UInt8>, _ range: ByteRange) throws(Refusal) {
        guard
            range.count == 8,
            bytes.equals(ByteRange(range.start, range.start + 5), "HTTP/"),
            bytes[range.start + 5].isDigit,
            bytes[range.start + 6] == UInt8(ascii: "."),
            bytes[range.start + 7].isDigit
        else { throw .badRequest("The HTTP version is malformed.") }
        guard bytes[range.start + 5] == UInt8(ascii: "1") else { throw .versionNotSupported }
        // RFC 9110 §2.5: a version 1.2 or higher is treated as 1.1, the highest known version.
        self.parts.isVersion10 = bytes[range.start + 7] == UInt8(ascii: "0")
    }

    private mutating func readField(_ bytes: Span<UInt8>, _ line: ByteRange) throws(Refusal) {
        guard self.parts.lines.count < self.limits.headerCount else { throw .headerTooLarge }
        // Nearly all bytes of names are letters, for which the first check is faster.
        var index = bytes.end(of: line) { $0.isLetter || ByteSet.token.contains($0) }
        // A continuation of a folded line begins with a space, so that its field name is empty.
        guard index > line.start, index < line.end, bytes[index] == UInt8(ascii: ":") else {
            throw .badRequest("A field name is invalid.")
        }
        let name = ByteRange(line.start, index)
        index += 1
        let value = bytes.trimmed(ByteRange(index, line.end))
        guard bytes.isFieldValue(value) else {
            throw .badRequest("A field value has a control character.")
        }
        self.parts.lines.append(RequestParts.Line(name: name, value: value))
        self.parts.nameLengths |= RequestParts.lengthBit(name.count)
    }

    // MARK: - The whole

    private mutating func finish(_ bytes: Span<UInt8>) throws(Refusal) {
        self.parts.bytes.removeAll(keepingCapacity: true)
        bytes.withUnsafeBufferPointer { self.parts.bytes.append(contentsOf: $0) }
        self.fieldsAreRead = true
        try self.parts.interpret(bytes)
    }

    private static func knownMethod(_ bytes: Span<UInt8>, _ range: ByteRange) -> HTTPRequest.Method? {
        switch range.count {
        case 3 where bytes.equals(range, "GET"): .get
        case 3 where bytes.equals(range, "PUT"): .put
        case 4 where bytes.equals(range, "POST"): .post
        case 4 where bytes.equals(range, "HEAD"): .head
        case 5 where bytes.equals(range, "PATCH"): .patch
        case 6 where bytes.equals(range, "DELETE"): .delete
        case 7 where bytes.equals(range, "OPTIONS"): .options
        default: nil
        }
    }
}
