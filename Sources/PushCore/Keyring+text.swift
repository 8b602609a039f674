/// What is done to a keyring's text; comments stay as they are.
extension Keyring {
    /// The text of a keyring with one new random key.
    package static func generateText() -> String {
        KeyText.generate(
            comment:
                "Data keys of Sealpost: the first seals, all open. Who has this file and the database can read every payload."
        )
    }

    /// The text with a new random key in front of the others, so that it seals, and that key's number.
    package static func addingKey(to text: String) throws(KeyringError) -> (text: String, number: UInt32) {
        try KeyText.addingKey(to: text)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(KeyringError) -> String {
        try KeyText.removingKey(number, from: text, inUse: .sealing(number))
    }
}
