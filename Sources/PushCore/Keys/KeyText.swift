internal import Bytes
package import Cryptography
internal import Foundation

/// A key of 32 bytes, and the number that identifies the key.
package struct NumberedKey: Sendable, Equatable {
    package let number: UInt32
    package let secret: SymmetricKey
}

/// Keys as text, a line for each: a number from 1 to 2^32-1 and 32 bytes in base64.
///
/// The first key is in use. Changes to the text keep empty lines and comments, which begin with
/// `#`.
package enum KeyText {
    /// Parses the keys of a text. There must be at least one key, and each must have a different
    /// number. Throws `KeyTextError`, which names the line of a malformed key.
    package static func keys(in text: String) throws(KeyTextError) -> [NumberedKey] {
        var keys: [NumberedKey] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            let words = line.split(separator: " ")
            guard
                words.count == 2, let number = UInt32(words[0]), number > 0,
                let secret = Base64.standard.bytes(in: words[1].utf8), secret.count == 32
            else { throw .malformed(line: index + 1) }
            guard !keys.contains(where: { $0.number == number }) else { throw .repeated(number) }
            keys.append(NumberedKey(number: number, secret: SymmetricKey(data: secret)))
        }
        guard !keys.isEmpty else { throw .empty }
        return keys
    }

    /// The text of one new random key, under a comment.
    package static func generate(comment: String) -> String {
        "# \(comment)\n" + self.randomLine(number: 1)
    }

    /// The text with a new random key before all other keys, and the number of the new key.
    package static func addingKey(to text: String) throws(KeyTextError) -> (text: String, number: UInt32) {
        let greatest = try self.keys(in: text).map(\.number).max() ?? 0
        guard greatest < .max else { throw .full }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let place = lines.firstIndex { self.number(of: $0) != nil } ?? 0
        let (before, after) = (lines[..<place].map { $0 + "\n" }.joined(), lines[place...].joined(separator: "\n"))
        return (before + self.randomLine(number: greatest + 1) + after, greatest + 1)
    }

    /// The text without the key of that number; `inUse` is the error to throw if that key is the
    /// first one, which is in use.
    package static func removingKey(
        _ number: UInt32,
        from text: String,
        inUse: KeyTextError
    ) throws(KeyTextError) -> String {
        let keys = try self.keys(in: text)
        guard keys.contains(where: { $0.number == number }) else { throw .missing(number) }
        guard keys[0].number != number else { throw inUse }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { self.number(of: $0) != number }.joined(separator: "\n")
    }

    // MARK: - Private

    private static func randomLine(number: UInt32) -> String {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Base64.standard.text(of: $0) }
        return "\(number) \(secret)\n"
    }

    /// The number at the start of a line; `nil` for a comment.
    private static func number(of line: Substring) -> UInt32? {
        line.split(separator: " ").first.flatMap { UInt32($0) }
    }
}
