internal import Crypto
internal import Foundation

/// What is done to a keyring's text; comments stay as they are.
extension Keyring {
    /// The text of a keyring with one new random key.
    package static func generateText() -> String {
        "# Data keys of Sealpost: the first seals, all open. Who has this file and the database can read every payload.\n"
            + self.randomLine(number: 1)
    }

    /// The text with a new random key in front of the others, so that it seals, and that key's number.
    package static func addingKey(to text: String) throws(KeyringError) -> (text: String, number: UInt32) {
        let greatest = try Keyring(text: text).numbers.max() ?? 0
        guard greatest < .max else { throw .full }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let place = lines.firstIndex { Self.number(of: $0) != nil } ?? 0
        let (before, after) = (lines[..<place].map { $0 + "\n" }.joined(), lines[place...].joined(separator: "\n"))
        return (before + self.randomLine(number: greatest + 1) + after, greatest + 1)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(KeyringError) -> String {
        let keyring = try Keyring(text: text)
        guard keyring.numbers.contains(number) else { throw .missing(number) }
        guard keyring.sealing != number else { throw .sealing(number) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { Self.number(of: $0) != number }.joined(separator: "\n")
    }

    // MARK: - Private

    private static func randomLine(number: UInt32) -> String {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        return "\(number) \(secret.base64EncodedString())\n"
    }

    /// The number that a line begins with; `nil` for a comment.
    private static func number(of line: Substring) -> UInt32? {
        line.split(separator: " ").first.flatMap { UInt32($0) }
    }
}
