package import Cryptography
package import Foundation

/// The keys that encrypt stored data. The first key encrypts; all keys decrypt. The text of a
/// keyring is a `KeyText`.
package struct Keyring: NumberedKeys, Equatable {
    /// The largest number of values that one key may encrypt with random nonces of 96 bits (NIST
    /// SP 800-38D, section 8.3).
    package static let maximumSeals = 1 << 32

    package static let comment =
        "Data keys of Sealpost: the first encrypts, all decrypt. With this file and the database, one can read every payload."

    let keys: [NumberedKey]

    /// Throws `KeyTextError`, which names the line, if the text is malformed.
    package init(text: String) throws(KeyTextError) {
        self.keys = try KeyText.keys(in: text)
    }

    private init(_ keys: [NumberedKey]) {
        self.keys = keys
    }

    /// The same keys in another order: the key with that number is first, and so encrypts. `nil`
    /// if there is no such key.
    package func sealing(with number: UInt32) -> Keyring? {
        guard let key = self.keys.first(where: { $0.number == number }) else { return nil }
        return Keyring([key] + self.keys.filter { $0.number != number })
    }

    /// The same keys, followed by those keys of `other` whose numbers this keyring lacks.
    package func joined(with other: Keyring) -> Keyring {
        let numbers = Set(self.numbers)
        return Keyring(self.keys + other.keys.filter { !numbers.contains($0.number) })
    }

    package static func inUse(_ number: UInt32) -> KeyTextError { .sealing(number) }

    /// The numbers of all keys, beginning with that of the key that encrypts.
    package var numbers: [UInt32] { self.keys.map(\.number) }

    /// The number of the key that encrypts.
    package var sealing: UInt32 { self.keys[0].number }

    /// A value that identifies the key of that number without revealing it; `nil` if there is no
    /// such key.
    package func checkValue(of number: UInt32) -> Data? {
        self.derived(from: number, "sealpost check value", 16)?.withUnsafeBytes { Data($0) }
    }

    /// Derives the key for the keyed hash of a backup from the key with that number; `nil` if the
    /// keyring has no key with that number.
    package func backupKey(of number: UInt32) -> SymmetricKey? {
        self.derived(from: number, "sealpost backup", 32)
    }

    private func derived(from number: UInt32, _ use: String, _ length: Int) -> SymmetricKey? {
        self.keys.first { $0.number == number }.map { key in
            HKDF<SHA256>.deriveKey(inputKeyMaterial: key.secret, info: Data(use.utf8), outputByteCount: length)
        }
    }
}

/// The reason why a text is not a valid `KeyText`, or why a change to it is refused.
package enum KeyTextError: Error, Hashable, CustomStringConvertible {
    case malformed(line: Int)
    case repeated(UInt32)
    case empty
    case missing(UInt32)
    /// The key with this number encrypts, so it cannot be removed.
    case sealing(UInt32)
    /// The key with this number signs, so it cannot be removed.
    case signing(UInt32)
    /// A key already has the greatest possible number, so no key can be added.
    case full

    /// Whether the text itself is malformed. Otherwise, the change to the text is refused.
    package var concernsText: Bool {
        switch self {
        case .malformed, .repeated, .empty: true
        case .missing, .sealing, .signing, .full: false
        }
    }

    package var description: String {
        switch self {
        case .malformed(let line): "line \(line) must be a number and 32 bytes in base64"
        case .repeated(let number): "key \(number) appears twice"
        case .empty: "it contains no key"
        case .missing(let number): "it contains no key \(number)"
        case .sealing(let number): "key \(number) is in use for encryption; run sealpost keys rotate first"
        case .signing(let number): "key \(number) is in use for signing; run sealpost signing-keys rotate first"
        case .full: "the key numbers are used up"
        }
    }
}
