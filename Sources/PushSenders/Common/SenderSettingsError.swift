/// The reason why a sender cannot be set up, as a text for the operator. The text never contains a
/// secret.
package enum SenderSettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A field of the configuration or of a file, and the value that it must have.
    case badValue(field: String, expected: String)
    /// A required field is missing.
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
