/// The id of a notification: a number that a push carries. The device fetches the payload with
/// this number.
///
/// The number is positive and random. The server's configuration determines how many bits it has.
package struct NotificationID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    /// Returns `nil` unless the number is positive.
    package init?(rawValue: Int64) {
        guard rawValue > 0 else { return nil }
        self.rawValue = rawValue
    }

    /// Reads a number as `description` writes it. Returns `nil` for any other spelling of the
    /// number.
    package init?(_ text: String) {
        // The first character is checked, because `Int64` also accepts a sign and leading zeros.
        guard let first = text.utf8.first, (0x31...0x39).contains(first), let number = Int64(text) else { return nil }
        self.init(rawValue: number)
    }

    /// Reads a number as `description` writes it. Returns `nil` for any other spelling of the
    /// number.
    package init?(digits: UnsafeBufferPointer<UInt8>) {
        // 19 digits do not overflow.
        guard digits.count <= 19, digits.first != 0x30 else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = number &* 10 &+ UInt64(digit &- 0x30)
        }
        guard let value = Int64(exactly: number) else { return nil }
        self.init(rawValue: value)
    }

    package var description: String { String(self.rawValue) }
}
