internal import Bytes

/// The reason why a verifier rejects a message's signature.
public struct SignatureFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public let reason: Reason
    /// A text for people and logs: the expected or the actual value.
    public let description: String

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// The kinds of failure; later versions may add more.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// A short name of the kind, of one or two words.
        public let description: String

        /// The signature, or a field or parameter that it needs, is missing.
        public static let missing = Self(description: "missing")
        /// A field does not follow its standard.
        public static let malformed = Self(description: "malformed")
        /// No signature is by a known key.
        public static let unknownKey = Self(description: "unknown key")
        /// The signature covers too few components, so it may also fit another request or answer.
        public static let insufficientCoverage = Self(description: "insufficient coverage")
        /// The signature does not cover exactly the required components.
        public static let wrongComponents = Self(description: "wrong components")
        /// The signature names another algorithm than its key's.
        public static let wrongAlgorithm = Self(description: "wrong algorithm")
        /// The content does not match its digest.
        public static let digestMismatch = Self(description: "digest mismatch")
        /// A signed component was changed, or belongs to another request.
        public static let badSignature = Self(description: "bad signature")
        /// The signature is valid, but was made too long ago or in the future, or has expired.
        public static let stale = Self(description: "stale")
        /// A component, a parameter or a field appears twice, and the verifier must not choose one
        /// of the two.
        public static let duplicate = Self(description: "duplicate")
    }
}

extension StructuredFieldParser {
    /// The dictionary in all lines of the field called `name`.
    static func dictionary(_ lines: [String], of name: String) throws(SignatureFailure) -> FieldDictionary {
        do throws(StructuredFieldError) {
            return try self.dictionary(FieldLines.value(of: lines))
        } catch {
            throw SignatureFailure(.malformed, "\(name) cannot be read: \(error)")
        }
    }
}

enum FieldLines {
    /// All lines of a field as one value: trimmed, and joined by commas (RFC 9421 §2.1).
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
