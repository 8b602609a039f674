internal import Crypto
package import Foundation

/// The data keys: the first seals, all open.
///
/// As text, a line for each key: a number from 1 to 2^32-1 and 32 bytes in base64. Empty lines and lines that begin
/// with `#` say nothing.
package struct Keyring: Sendable, Equatable {
    /// Random nonces of 96 bits allow so many seals under one key (NIST SP 800-38D, section 8.3).
    package static let maximumSeals = 1 << 32

    struct Key: Sendable, Equatable {
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

    /// The numbers of all keys; the first is that of the key that seals.
    package var numbers: [UInt32] { self.keys.map(\.number) }

    /// The number of the key that seals.
    package var sealing: UInt32 { self.keys[0].number }

    /// Recognises the key of that number, and tells nothing about it; `nil` if there is none.
    package func checkValue(of number: UInt32) -> Data? {
        self.keys.first { $0.number == number }.map { key in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key.secret,
                info: Data("sealpost check value".utf8),
                outputByteCount: 16
            ).withUnsafeBytes { Data($0) }
        }
    }
}

/// A keyring that cannot be used.
package enum KeyringError: Error, Hashable, CustomStringConvertible {
    case malformed(line: Int)
    case repeated(UInt32)
    case empty
    case missing(UInt32)
    /// The key that seals cannot go.
    case sealing(UInt32)
    /// The greatest number is in use.
    case full

    package var description: String {
        switch self {
        case .malformed(let line): "line \(line) is not a number and 32 bytes in base64"
        case .repeated(let number): "key \(number) is there twice"
        case .empty: "it holds no key"
        case .missing(let number): "it holds no key \(number)"
        case .sealing(let number): "key \(number) is the one that seals"
        case .full: "no number is left for another key"
        }
    }
}
