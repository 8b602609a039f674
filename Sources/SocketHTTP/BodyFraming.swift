internal import Bytes

/// The way to find the end of a request's body (RFC 9112 §6.3).
enum BodyFraming: Sendable, Hashable {
    case none
    /// The number of bytes in the body; it is not zero.
    case length(Int)
    case chunked
}

extension RequestParts {
    /// Reads the body's framing from the fields. Refuses fields that another parser might read
    /// differently, since this would allow request smuggling.
    ///
    /// `Content-Length` must occur once and consist of digits. RFC 9110 §8.6 would allow a list of
    /// equal values, but such a list is refused, too.
    func framing(_ bytes: Span<UInt8>) throws(Refusal) -> BodyFraming {
        var length: Int?
        var codings: [ByteRange]?
        for field in self.lines {
            if bytes.equals(field.name, anyCase: "content-length") {
                guard length == nil else { throw .badRequest("The Content-Length field appears more than once.") }
                length = try Self.contentLength(bytes, field.value)
            } else if bytes.equals(field.name, anyCase: "transfer-encoding") {
                codings = (codings ?? []) + bytes.listElements(field.value)
            }
        }
        guard let codings else { return length.map { $0 == 0 ? .none : .length($0) } ?? .none }
        guard length == nil else { throw .badRequest("Content-Length and Transfer-Encoding cannot be combined.") }
        guard !self.isVersion10 else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding.") }
        guard
            let last = codings.last,
            bytes.equals(last, anyCase: "chunked"),
            !codings.dropLast().contains(where: { bytes.equals($0, anyCase: "chunked") || $0.isEmpty })
        else { throw .badRequest("Transfer-Encoding must end in chunked, once.") }
        guard codings.count == 1 else { throw .notImplemented }
        return .chunked
    }

    private static func contentLength(_ bytes: Span<UInt8>, _ range: ByteRange) throws(Refusal) -> Int {
        var length = 0
        var overflows = range.isEmpty
        for index in range.range {
            guard bytes[index].isDigit else { throw .badRequest("Content-Length is not a number.") }
            let (product, productOverflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflows) = product.addingReportingOverflow(Int(bytes[index] - 0x30))
            length = sum
            overflows = overflows || productOverflows || sumOverflows
        }
        guard !overflows else { throw .badRequest("Content-Length is empty or too large.") }
        return length
    }
}

extension Span<UInt8> {
    /// The elements of a list with commas, without the spaces around them.
    func listElements(_ range: ByteRange) -> [ByteRange] {
        var elements: [ByteRange] = []
        var start = range.start
        for index in range.range where self[index] == UInt8(ascii: ",") {
            elements.append(self.trimmed(ByteRange(start, index)))
            start = index + 1
        }
        elements.append(self.trimmed(ByteRange(start, range.end)))
        return elements
    }
}
