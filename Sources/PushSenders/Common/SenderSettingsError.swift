/// Why a sender cannot be set up, in words for the operator; never holds a secret.
package enum SenderSettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The configuration's or file's field, and what it must be.
    case badValue(field: String, expected: String)
    /// A field that a credentials file must have.
    case missingField(String)
    /// The key cannot be read, or is of the wrong kind.
    case badKey(field: String, expected: String)

    package var description: String {
        switch self {
        case .badValue(let field, let expected): "\(field): must be \(expected)"
        case .missingField(let field): "\(field): missing"
        case .badKey(let field, let expected): "\(field): not \(expected)"
        }
    }
}
