public import Foundation

/// A key whose bytes are overwritten in memory when its last copy is released.
public struct SymmetricKey: ContiguousBytes, Sendable {
    let secret: SecretBytes

    /// A new random key.
    public init(size: SymmetricKeySize) {
        self.secret = SecretBytes(randomCount: size.bitCount / 8)
    }

    /// Copies `data`. The bytes of `data` itself are not overwritten.
    public init(data: some ContiguousBytes) {
        self.secret = data.withUnsafeBytes(SecretBytes.init(copying:))
    }

    init(_ secret: SecretBytes) {
        self.secret = secret
    }

    /// The size in bits.
    public var bitCount: Int { self.secret.count * 8 }

    /// Runs `body` with the bytes; `body` should keep no copy of them.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.secret.withUnsafeBytes(body)
    }
}

extension SymmetricKey: Equatable {
    /// Compares in a time that depends only on the keys' sizes.
    public static func == (one: SymmetricKey, other: SymmetricKey) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { LibCrypto.isEqual(one, $0) } }
    }
}

/// The size of a key, in whole bytes.
public struct SymmetricKeySize: Sendable {
    /// The size in bits.
    public let bitCount: Int

    /// 16 bytes.
    public static let bits128 = SymmetricKeySize(bitCount: 128)
    /// 32 bytes.
    public static let bits256 = SymmetricKeySize(bitCount: 256)
}
