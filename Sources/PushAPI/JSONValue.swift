internal import Bytes

/// A JSON text (RFC 8259). Its members keep their order, and its numbers keep their digits.
///
/// So a payload keeps its order and its digits from post to fetch. A reader that turns numbers
/// into `Double` and members into a dictionary cannot guarantee that. Blanks and escapes are not
/// kept.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, with its digits as written.
    case number(digits: String)
    /// A string, without its quotes and escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object with its members in order; a name may occur twice.
    case object([Member])

    /// A name and a value.
    public struct Member: Sendable, Hashable {
        /// The name as written.
        public let name: String
        /// Its value.
        public let value: JSONValue

        /// A member of an object.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// An integer.
    public static func number(_ value: some FixedWidthInteger) -> JSONValue {
        .number(digits: String(value))
    }

    /// The text of a string; `nil` for any other value.
    public var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of an integer; `nil` for any other value, and if the integer is too large or has
    /// an exponent.
    ///
    /// `3.0` is an integer, as in JSON Schema: some JSON writers write every number with a decimal
    /// point.
    public var integer: Int? {
        guard case .number(let digits) = self else { return nil }
        let parts = digits.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
        guard parts.count == 2 else { return Int(digits) }
        return parts[1].allSatisfy { $0 == UInt8(ascii: "0") } ? Int(Substring(parts[0])) : nil
    }

    /// The kind of value, for an error message: "a string", "an object".
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value of the member with this name, in upper, lower or mixed case; `nil` if it is
    /// missing.
    ///
    /// If several members match, the last one counts, as in most parsers.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.isSpelled(like: name) }?.value
    }
}

extension String {
    /// Whether two names differ at most in the case of letters.
    fileprivate func isSpelled(like other: String) -> Bool {
        // A fast path: the code compares many names, and nearly all are ASCII.
        guard self.utf8.allSatisfy({ $0 < 0x80 }), other.utf8.allSatisfy({ $0 < 0x80 }) else {
            return self.lowercased() == other.lowercased()
        }
        return self.utf8.count == other.utf8.count
            && zip(self.utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
    }
}
