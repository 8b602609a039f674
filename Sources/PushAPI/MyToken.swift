internal import Bytes

/// The number that a client sends to distinguish the server's own answer from one that a proxy
/// cached or invented.
///
/// The answer to the number `n` has `n * 17 + 3`. The range of `n` is chosen so that the answer's
/// number fits a signed 32-bit integer and every client calculates the same value.
///
/// ```swift
/// let token = MyToken.random()
/// request.setValue(token.description, forHTTPHeaderField: MyToken.fieldName)
/// // ... and in the answer:
/// response.value(forHTTPHeaderField: MyToken.fieldName) == token.echo
/// ```
public struct MyToken: Sendable, Hashable, CustomStringConvertible {
    /// The name of the header field in requests and answers. The server writes it with exactly
    /// these capitals.
    public static let fieldName = "MyToken"

    /// The numbers a token can have.
    public static let range: ClosedRange<Int32> = 0...126_322_567

    /// The number.
    public let value: Int32

    /// Returns `nil` if the number is out of range.
    public init?(value: Int32) {
        guard Self.range.contains(value) else { return nil }
        self.value = value
    }

    /// Reads a decimal integer without sign or blanks; throws `Invalid` for any other text, or if
    /// the integer is out of range.
    public init(text: String) throws(Invalid) {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { throw .notANumber }
        guard let value = Int32(text), let token = MyToken(value: value) else { throw .outOfRange }
        self = token
    }

    /// An unpredictable token.
    public static func random() -> MyToken {
        var generator = SystemRandomNumberGenerator()
        guard let token = MyToken(value: .random(in: self.range, using: &generator)) else {
            preconditionFailure("a number from the range is in the range")
        }
        return token
    }

    /// The server's answer to the number: `n * 17 + 3`, in decimal.
    public var echo: String { String(self.echoValue) }

    /// The number that the server sends back.
    package var echoValue: Int { Int(self.value) * 17 + 3 }

    /// The number in decimal, as the client sends it.
    public var description: String { String(self.value) }

    /// The reason why a text is not a token.
    public enum Invalid: Error, Sendable, Hashable {
        /// The text has other characters than decimal digits.
        case notANumber
        /// The number is above 126322567.
        case outOfRange
    }
}
