/// The number that a push carries; the device fetches the payload by it.
///
/// Positive and random; the server chooses how many bits it has.
package struct NotificationID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    /// `nil` unless the number is positive.
    package init?(rawValue: Int64) {
        guard rawValue > 0 else { return nil }
        self.rawValue = rawValue
    }

    /// Reads the form of `description`; `nil` for any other spelling of the number.
    package init?(_ text: String) {
        // `Int64` also reads a sign and zeros before the number.
        guard let first = text.utf8.first, (0x31...0x39).contains(first), let number = Int64(text) else { return nil }
        self.init(rawValue: number)
    }

    package var description: String { String(self.rawValue) }
}
