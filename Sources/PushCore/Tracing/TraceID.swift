internal import Bytes

/// The trace that a request belongs to, as the caller's `traceparent` names it (W3C Trace
/// Context).
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    /// Two hexadecimal digits and a hyphen, 32 digits, a hyphen, 16 digits, a hyphen and two
    /// digits.
    private static let length = 55

    private let high: UInt64
    private let low: UInt64

    /// Reads the value of a `traceparent`; `nil` if its form differs from the recommendation
    /// (https://www.w3.org/TR/trace-context/#traceparent-header-field-values).
    package init?(traceparent text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Self.length, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high | low != 0,
            let parent = Self.number(bytes[36..<52]), parent != 0,
            Self.number(bytes[53..<55]) != nil
        else { return nil }
        // A later version may have more fields, after another hyphen.
        guard bytes.count == Self.length || version > 0 && bytes[Self.length] == UInt8(ascii: "-") else { return nil }
        (self.high, self.low) = (high, low)
    }

    /// 32 digits in lower case.
    package var description: String {
        Hexadecimal.text(
            of: [self.high, self.low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
            }
        )
    }

    /// At most 16 digits; `nil` if a character is not a digit, or is in upper case.
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
