internal import Foundation
internal import HTTPSignatures

/// What is done to the text of signing keys; comments stay as they are.
extension SigningKeySet {
    /// The text of a set with one new random key.
    package static func generateText() -> String {
        "# Keys that Sealpost signs answers with: the first, unless another is asked for. Apps pin the public halves.\n"
            + self.randomLine(number: 1)
    }

    /// The text with a new random key in front of the others, so that it signs, and that key's number.
    package static func addingKey(to text: String) throws(SigningKeyError) -> (text: String, number: UInt32) {
        let greatest = try SigningKeySet(text: text).keys.map(\.number).max() ?? 0
        guard greatest < .max else { throw .full }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let place = lines.firstIndex { Self.number(of: $0) != nil } ?? 0
        let (before, after) = (lines[..<place].map { $0 + "\n" }.joined(), lines[place...].joined(separator: "\n"))
        return (before + self.randomLine(number: greatest + 1) + after, greatest + 1)
    }

    /// The text without the key of that number.
    package static func removingKey(_ number: UInt32, from text: String) throws(SigningKeyError) -> String {
        let keys = try SigningKeySet(text: text).keys
        guard keys.contains(where: { $0.number == number }) else { throw .missing(number) }
        guard keys[0].number != number else { throw .signing(number) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { Self.number(of: $0) != number }.joined(separator: "\n")
    }

    // MARK: - Private

    private static func randomLine(number: UInt32) -> String {
        "\(number) \(SigningKey().rawRepresentation.base64EncodedString())\n"
    }

    /// The number that a line begins with; `nil` for a comment.
    private static func number(of line: Substring) -> UInt32? {
        line.split(separator: " ").first.flatMap { UInt32($0) }
    }
}
