internal import Bytes

/// The parts of a request target, stored as ranges of bytes.
struct RequestTarget: Sendable, Hashable {
    /// The authority, which only a target in absolute-form has.
    var authority: ByteRange?
    /// The path. An empty range stands for `/`, which absolute-form may leave out.
    var path: ByteRange
    var query: ByteRange?

    static let root = RequestTarget(path: ByteRange(0, 0))

    private init(path: ByteRange) {
        self.path = path
    }

    /// Splits and checks a target of any form except `CONNECT`'s (RFC 9112 §3.2). The target may
    /// contain only the characters that RFC 3986 allows.
    ///
    /// Refuses some well-formed targets, because a program behind the server may decode or
    /// normalise them: those with plain or encoded dot segments, with encoded slashes, backslashes
    /// or control characters, or with double encodings.
    init(_ bytes: Span<UInt8>, _ range: ByteRange, isOptions: Bool) throws(Refusal) {
        guard !range.isEmpty else { throw .badRequest("The request target is missing.") }
        if bytes[range.start] == UInt8(ascii: "/") {
            try self.init(bytes, range, pathStart: range.start, authority: nil)
        } else if isOptions, bytes.equals(range, "*") {
            self.init(path: range)
        } else {
            let start = try Self.authorityStart(bytes, range)
            var end = start
            while end < range.end, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") { end += 1 }
            let authority = ByteRange(start, end)
            guard Authority.isValid(bytes, authority) else {
                throw .badRequest("The authority of the request target is invalid.")
            }
            try self.init(bytes, range, pathStart: end, authority: authority)
        }
    }

    private init(
        _ bytes: Span<UInt8>,
        _ range: ByteRange,
        pathStart: Int,
        authority: ByteRange?
    ) throws(Refusal) {
        self.authority = authority
        let pathEnd = try Self.endOfPath(bytes, from: pathStart, to: range.end)
        self.path = ByteRange(pathStart, pathEnd)
        if pathEnd < range.end {
            self.query = ByteRange(pathEnd + 1, range.end)
            try Self.checkQuery(bytes, from: pathEnd + 1, to: range.end)
        }
    }

    // MARK: - Private

    private static func authorityStart(_ bytes: Span<UInt8>, _ range: ByteRange) throws(Refusal) -> Int {
        for scheme in ["http://", "https://"] as [StaticString] {
            let end = range.start + scheme.utf8CodeUnitCount
            if end <= range.end, bytes.equals(ByteRange(range.start, end), anyCase: scheme) { return end }
        }
        throw .badRequest("The request target is invalid.")
    }

    private static func endOfPath(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(Refusal) -> Int {
        var index = start
        var dots = 0
        var hasOther = false
        while index < end, bytes[index] != UInt8(ascii: "?") {
            let byte = bytes[index]
            switch byte {
            // A fast path for nearly all bytes of paths.
            case _ where byte.isLetterOrDigit:
                hasOther = true
            case UInt8(ascii: "/"):
                try self.checkSegment(dots: dots, hasOther: hasOther)
                dots = 0
                hasOther = false
            case UInt8(ascii: "."):
                dots += 1
            case UInt8(ascii: "%"):
                if try self.decodedInPath(bytes, at: index, end: end) == UInt8(ascii: ".") {
                    dots += 1
                } else {
                    hasOther = true
                }
                index += 2
            default:
                guard ByteSet.path.contains(byte) else {
                    throw .badRequest("The path has a character that must be percent-encoded.")
                }
                hasOther = true
            }
            index += 1
        }
        try self.checkSegment(dots: dots, hasOther: hasOther)
        return index
    }

    private static func checkSegment(dots: Int, hasOther: Bool) throws(Refusal) {
        if !hasOther, dots == 1 || dots == 2 { throw .badRequest("The path has a dot segment.") }
    }

    private static func decodedInPath(_ bytes: Span<UInt8>, at index: Int, end: Int) throws(Refusal) -> UInt8 {
        guard let byte = self.decoded(bytes, at: index, end: end) else {
            throw .badRequest("The path has an invalid percent-encoding.")
        }
        switch byte {
        case _ where byte.isControl, UInt8(ascii: "/"), UInt8(ascii: "\\"):
            throw .badRequest("The path has an encoded control character, slash or backslash.")
        case UInt8(ascii: "%") where self.digitsFollow(bytes, from: index + 3, to: end):
            throw .badRequest("The path is encoded twice.")
        default:
            return byte
        }
    }

    /// Whether two hexadecimal digits follow. Each digit may itself be percent-encoded.
    private static func digitsFollow(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        var index = start
        for _ in 0..<2 {
            guard index < end else { return false }
            let isEncoded = bytes[index] == UInt8(ascii: "%")
            let byte = isEncoded ? self.decoded(bytes, at: index, end: end) : bytes[index]
            guard byte?.isHexDigit == true else { return false }
            index += isEncoded ? 3 : 1
        }
        return true
    }

    private static func checkQuery(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(Refusal) {
        var index = start
        while index < end {
            if bytes[index] == UInt8(ascii: "%") {
                guard self.decoded(bytes, at: index, end: end) != nil else {
                    throw .badRequest("The query has an invalid percent-encoding.")
                }
                index += 3
            } else {
                guard ByteSet.query.contains(bytes[index]) else {
                    throw .badRequest("The query has a character that must be percent-encoded.")
                }
                index += 1
            }
        }
    }

    /// The byte that the two hexadecimal digits after `index` encode.
    private static func decoded(_ bytes: Span<UInt8>, at index: Int, end: Int) -> UInt8? {
        guard
            end - index > 2,
            let high = bytes[index + 1].hexDigitValue,
            let low = bytes[index + 2].hexDigitValue
        else { return nil }
        return high << 4 | low
    }
}
