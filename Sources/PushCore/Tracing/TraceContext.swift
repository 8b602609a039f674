internal import Bytes

/// A place in a trace: the id of the trace, and the id of a span that is the parent of further
/// spans. The request field `traceparent` contains it (W3C Trace Context).
package struct TraceContext: Sendable, Hashable {
    package let trace: TraceID
    package let span: SpanID
    /// Whether the spans of the trace are recorded.
    package let isSampled: Bool

    /// The context of the request that the current task answers, if its spans are recorded.
    @TaskLocal package static var current: TraceContext?

    /// The length of `traceparent`: 2, 32, 16 and 2 hexadecimal digits, with hyphens in between.
    private static let length = 55

    init(trace: TraceID, span: SpanID, isSampled: Bool) {
        (self.trace, self.span, self.isSampled) = (trace, span, isSampled)
    }

    /// Reads the value of a `traceparent`; returns `nil` if its form differs from the
    /// recommendation (https://www.w3.org/TR/trace-context/#traceparent-header-field-values).
    package init?(traceparent text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Self.length, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let trace = TraceID(high: high, low: low),
            let span = Self.number(bytes[36..<52]).flatMap({ SpanID($0) }),
            let flags = Self.number(bytes[53..<55])
        else { return nil }
        // A later version of the format may add fields after another hyphen.
        guard bytes.count == Self.length || version > 0 && bytes[Self.length] == UInt8(ascii: "-") else { return nil }
        self.init(trace: trace, span: span, isSampled: flags & 1 == 1)
    }

    /// The number that at most 16 hexadecimal digits form; `nil` if a character is not such a
    /// digit, or is in upper case.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            guard let value = digit.hexDigitValue, !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit) else {
                return nil
            }
            number = number << 4 | UInt64(value)
        }
        return number
    }
}
