/// Keys that stand as a `KeyText` in a file of their own, the first of which is in use.
package protocol NumberedKeys: Sendable {
    /// What a new file begins with.
    static var comment: String { get }

    /// Why the first key, which is in use, cannot go.
    static func inUse(_ number: UInt32) -> KeyTextError

    /// Throws what is wrong, and in which line.
    init(text: String) throws(KeyTextError)
}

/// What is done to the text; comments stay as they are.
extension NumberedKeys {
    /// The text with one new random key.
    package static func generateText() -> String {
        KeyText.generate(comment: self.comment)
    }

    /// The text with a new random key in front of the others, so that it is in use, and that key's number.
    package static func addingKey(to text: String) throws(KeyTextError) -> (text: String, number: UInt32) {
        try KeyText.addingKey(to: text)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(KeyTextError) -> String {
        try KeyText.removingKey(number, from: text, inUse: self.inUse(number))
    }
}
