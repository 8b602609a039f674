import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Cryptography
#endif

/// The store of the app's secrets: the keychain on a device, a dictionary in tests.
protocol Secrets: Sendable {
    /// Returns `nil` if there is no secret with this name. Throws if the device was not unlocked
    /// since its start.
    func read(_ name: String) throws -> Data?

    /// Replaces a secret; `nil` removes it.
    func write(_ secret: Data?, as name: String) throws
}

extension Secrets {
    func text(_ name: String) throws -> String? {
        try self.read(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The key of the stored data, created at the first start.
    func storeKey() throws -> SymmetricKey {
        if let data = try self.read("store") { return SymmetricKey(data: data) }
        let key = SymmetricKey(size: .bits256)
        try self.write(key.withUnsafeBytes { Data($0) }, as: "store")
        return key
    }
}
