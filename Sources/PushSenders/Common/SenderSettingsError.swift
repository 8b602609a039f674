/// The reason why a sender cannot be set up, as a text for the operator. The text never contains a
/// secret.
package enum SenderSettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A field of the configuration or of a file, and the value that it must have.
    case badValue(field: String, expected: String)
    /// A required field is missing.
    case missingField(String)
    /// The key cannot be read, or is of the wrong kind.
    case badKey(field: String, expected: String)
    /// An error about a field of a file. The configuration's key `key` names the file.
    indirect case inFile(key: String, SenderSettingsError)

    package var description: String { "\(self.field): \(self.fault)" }

    package var field: String {
        switch self {
        case .badValue(let field, _), .missingField(let field), .badKey(let field, _), .inFile(let field, _): field
        }
    }

    /// The fault of the field.
    package var fault: String {
        switch self {
        case .badValue(_, let expected): "must be \(expected)"
        case .missingField: "missing"
        case .badKey(_, let expected): "not \(expected)"
        case .inFile(_, let error): "the file's \(error)"
        }
    }
}
