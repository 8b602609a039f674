/// Keys that are stored as a `KeyText` in their own file; the first one is in use.
package protocol NumberedKeys: Sendable {
    /// The comment at the beginning of a new file with keys.
    static var comment: String { get }

    /// The error for an attempt to remove the first key, which is in use.
    static func inUse(_ number: UInt32) -> KeyTextError

    /// Parses the text of the file. Throws `KeyTextError`, which names the line, if the text is
    /// malformed.
    init(text: String) throws(KeyTextError)
}

/// Makes the text of a new file, and changes the text of an existing one. A change keeps the
/// comments of the text.
extension NumberedKeys {
    /// The text of a new file, which has one random key.
    package static func generateText() -> String {
        KeyText.generate(comment: self.comment)
    }

    /// The text with a new random key before all others, so that the new key is in use; and the
    /// number of the new key.
    package static func addingKey(to text: String) throws(KeyTextError) -> (text: String, number: UInt32) {
        try KeyText.addingKey(to: text)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(KeyTextError) -> String {
        try KeyText.removingKey(number, from: text, inUse: self.inUse(number))
    }
}
