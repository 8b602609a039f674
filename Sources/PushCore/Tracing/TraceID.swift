internal import Bytes

/// The id of a trace (W3C Trace Context).
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Returns `nil` if both halves are 0, because no trace has this id.
    init?(high: UInt64, low: UInt64) {
        if high | low == 0 { return nil }
        (self.high, self.low) = (high, low)
    }

    /// A new random id.
    static func random() -> TraceID {
        while true {
            if let id = TraceID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) { return id }
        }
    }

    /// The id as 32 hexadecimal digits in lower case.
    package var description: String { Hexadecimal.text(of: self.high) + Hexadecimal.text(of: self.low) }
}

/// The id of a span, which is never 0.
package struct SpanID: Sendable, Hashable, CustomStringConvertible {
    private let number: UInt64

    /// Returns `nil` if the number is 0.
    init?(_ number: UInt64) {
        if number == 0 { return nil }
        self.number = number
    }

    /// A new random id.
    static func random() -> SpanID {
        while true {
            if let id = SpanID(.random(in: 0 ... .max)) { return id }
        }
    }

    /// The id as 16 hexadecimal digits in lower case.
    package var description: String { Hexadecimal.text(of: self.number) }
}

extension Hexadecimal {
    fileprivate static func text(of number: UInt64) -> String {
        self.text(of: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }
}
