internal import Bytes

/// Why a message's signature is not accepted.
public struct SignatureFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Which kind of failure it is.
    public let reason: Reason
    /// For people and logs: what was expected, or seen.
    public let description: String

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// The kinds of it; there may be more of them one day.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// A word or two.
        public let description: String

        /// There is no signature, or not all that it should be over.
        public static let missing = Self(description: "missing")
        /// A field is not what its standard says.
        public static let malformed = Self(description: "malformed")
        /// None of its signatures is by a key that is known.
        public static let unknownKey = Self(description: "unknown key")
        /// It is over less than it has to be over, so that it may fit another request or answer, too.
        public static let insufficientCoverage = Self(description: "insufficient coverage")
        /// It is not over exactly what it has to be over.
        public static let wrongComponents = Self(description: "wrong components")
        /// It names another algorithm than its key has.
        public static let wrongAlgorithm = Self(description: "wrong algorithm")
        /// The content is not the one that the digest is of.
        public static let digestMismatch = Self(description: "digest mismatch")
        /// Something that is signed has been changed, or belongs to another request.
        public static let badSignature = Self(description: "bad signature")
        /// It is good, but made too long ago, or in the future.
        public static let stale = Self(description: "stale")
        /// Something appears twice, of which one must not choose.
        public static let duplicate = Self(description: "duplicate")
    }
}

extension StructuredFieldParser {
    /// A dictionary out of all lines of the field called `name`.
    static func dictionary(_ lines: [String], of name: String) throws(SignatureFailure) -> FieldDictionary {
        do throws(StructuredFieldError) {
            return try self.dictionary(FieldLines.value(of: lines))
        } catch {
            throw SignatureFailure(.malformed, "\(name) cannot be read: \(error)")
        }
    }
}

enum FieldLines {
    /// All lines of a field as one value: without blanks around them, and with commas between (RFC 9421 §2.1).
    static func value(of lines: [String]) -> String {
        lines.map { line in
            let bytes = line.utf8
            guard
                let start = bytes.firstIndex(where: { !$0.isBlank }),
                let last = bytes.lastIndex(where: { !$0.isBlank })
            else { return "" }
            return String(line[start...last])
        }.joined(separator: ", ")
    }
}
