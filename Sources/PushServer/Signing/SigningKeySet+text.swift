internal import PushCore

/// What is done to the text of signing keys; comments stay as they are.
extension SigningKeySet {
    /// The text of a set with one new random key.
    package static func generateText() -> String {
        KeyText.generate(
            comment:
                "Keys that Sealpost signs answers with: the first, unless another is asked for. Apps pin the public halves."
        )
    }

    /// The text with a new random key in front of the others, so that it signs, and that key's number.
    package static func addingKey(to text: String) throws(SigningKeyError) -> (text: String, number: UInt32) {
        try KeyText.addingKey(to: text)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(SigningKeyError) -> String {
        try KeyText.removingKey(number, from: text, inUse: .signing(number))
    }
}
