package import Crypto
internal import Foundation

/// The data keys: the first seals, all open.
///
/// As text, a line for each key: a number from 1 to 2^32-1 and 32 bytes in base64. Empty lines and lines that begin
/// with `#` say nothing.
package struct Keyring: Sendable {
    struct Key: Sendable {
        let number: UInt32
        let secret: SymmetricKey
    }

    let keys: [Key]

    /// Throws `KeyringError` with the line that is wrong.
    package init(text: String) throws(KeyringError) {
        var keys: [Key] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            let words = line.split(separator: " ")
            guard words.count == 2, let number = UInt32(words[0]), number > 0 else {
                throw .malformed(line: index + 1)
            }
            guard let secret = Data(base64Encoded: String(words[1])), secret.count == 32 else {
                throw .malformed(line: index + 1)
            }
            guard !keys.contains(where: { $0.number == number }) else { throw .repeated(number) }
            keys.append(Key(number: number, secret: SymmetricKey(data: secret)))
        }
        guard !keys.isEmpty else { throw .empty }
        self.keys = keys
    }

    /// The text of a keyring with one new random key.
    package static func generateText() -> String {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        return "# Data keys of Sealpost. Who has this file and the database can read every payload.\n"
            + "1 \(secret.base64EncodedString())\n"
    }

    /// A key for another purpose, the same as long as the oldest key stays in the ring.
    package func derive(_ purpose: String) -> SymmetricKey {
        let oldest = self.keys[self.keys.count - 1]
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: oldest.secret,
            info: Data("sealpost \(purpose)".utf8),
            outputByteCount: 32
        )
    }
}

/// A keyring that cannot be used.
package enum KeyringError: Error, Hashable, CustomStringConvertible {
    case malformed(line: Int)
    case repeated(UInt32)
    case empty

    package var description: String {
        switch self {
        case .malformed(let line): "line \(line) is not a number and 32 bytes in base64"
        case .repeated(let number): "key \(number) is there twice"
        case .empty: "it holds no key"
        }
    }
}
