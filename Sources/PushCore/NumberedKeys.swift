/// Keys that are stored as a `KeyText` in their own file; the first one is in use.
package protocol NumberedKeys: Sendable {
    /// The comment at the beginning of a new file.
    static var comment: String { get }

    /// The error for an attempt to remove the first key, which is in use.
    static func inUse(_ number: UInt32) -> KeyTextError

    /// Parses the text. Throws `KeyTextError` if it is malformed, with the line.
    init(text: String) throws(KeyTextError)
}

/// Changes to the text, which keep its comments.
extension NumberedKeys {
    /// The text with one new random key.
    package static func generateText() -> String {
        KeyText.generate(comment: self.comment)
    }

    /// The text with a new random key before the others, so that it is in use, and that key's
    /// number.
    package static func addingKey(to text: String) throws(KeyTextError) -> (text: String, number: UInt32) {
        try KeyText.addingKey(to: text)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(KeyTextError) -> String {
        try KeyText.removingKey(number, from: text, inUse: self.inUse(number))
    }
}
