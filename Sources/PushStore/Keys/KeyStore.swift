package import Foundation
package import PushCore

/// A data key under which something in the store may be encrypted.
package struct DataKeyEntry: Sendable, Hashable {
    package let number: UInt32
    package let usedSince: Date
    /// How many values it has encrypted, which random nonces bound (`Keyring.maximumSeals`).
    package let seals: Int
    /// Recognises the key.
    package let checkValue: Data

    package init(number: UInt32, usedSince: Date, seals: Int, checkValue: Data) {
        self.number = number
        self.usedSince = usedSince
        self.seals = seals
        self.checkValue = checkValue
    }
}

extension [DataKeyEntry] {
    /// Throws `StoreError.wrongKeyring` unless each key in use is in the keyring, and is the same.
    package func check(_ keyring: Keyring) throws(StoreError) {
        for key in self {
            switch keyring.checkValue(of: key.number) {
            case key.checkValue: continue
            case .some:
                throw .wrongKeyring(reason: "its key \(key.number) is not the key that the database was encrypted with")
            case nil: throw .wrongKeyring(reason: "it lacks key \(key.number), which the database was encrypted with")
            }
        }
    }
}

/// The outcome of a pass over all encrypted values.
package struct RewrapResult: Sendable, Hashable {
    package var renewed = 0
    /// Values that cannot be decrypted; their keys stay in use.
    package var unreadable = 0
    /// The keys that nothing is encrypted with any more.
    package var unused: [UInt32] = []

    package init() {}
}

/// Holds the keys, and changes them.
package protocol KeyStore: Sendable {
    /// Encrypts and decrypts payloads.
    var vault: Vault { get }

    /// Keys for keyed hashes are derived from this.
    var indexSecret: IndexSecret { get }

    /// Uses another keyring from now on, whose first key encrypts. Values under other keys wait for `rewrap`.
    ///
    /// Returns `false` if it is the same. Throws `StoreError.wrongKeyring`, and keeps the old, if a key in use is not in it.
    func exchange(_ keyring: Keyring, now: Date) async throws -> Bool

    /// Writes down how many values were encrypted; if that fails, they are counted the next time.
    func writeSealCounts() async throws

    /// Encrypts anew, page by page, all that is not under the first key; `nil` if there is nothing else.
    ///
    /// May end at any moment and begin anew. New values are under the first key while it runs, also behind it. `page` is how
    /// many values are looked at in one transaction; `nil`: as many as the store likes.
    func rewrap(page: Int?) async throws -> RewrapResult?
}

extension KeyStore {
    /// Encrypts anew all that is not under the first key.
    package func rewrap() async throws -> RewrapResult? {
        try await self.rewrap(page: nil)
    }
}
