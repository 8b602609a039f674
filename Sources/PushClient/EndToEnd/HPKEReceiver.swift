internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The receiving end of HPKE (RFC 9180) in the mode Auth, with DHKEM(P-256, HKDF-SHA256),
/// HKDF-SHA256 and AES-128-GCM. This receiver only exports secrets, and decrypts no messages.
///
/// CryptoKit has HPKE only from iOS 17 on; this type runs on all systems that the client supports.
struct HPKEReceiver {
    private let exporterSecret: SymmetricKey

    /// `SetupAuthR` of RFC 9180. Throws if a public key is not a point on the curve.
    init(
        encapsulated: [UInt8],
        key: any AgreementKey,
        sender: P256.KeyAgreement.PublicKey,
        information: [UInt8]
    ) throws {
        let ephemeral = try P256.KeyAgreement.PublicKey(x963Representation: encapsulated)
        var shared: [UInt8] = []
        for other in [ephemeral, sender] {
            shared += try key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) }
        }
        let context = encapsulated + key.publicKey.x963Representation + sender.x963Representation
        let prk = Self.extract(nil, Self.kem, "eae_prk", shared)
        let secret = Self.expand(prk, Self.kem, "shared_secret", context, 32)
        let schedule =
            [Self.mode] + Self.extract(nil, Self.suite, "psk_id_hash", [])
            + Self.extract(nil, Self.suite, "info_hash", information)
        let root = Self.extract(secret, Self.suite, "secret", [])
        self.exporterSecret = SymmetricKey(data: Self.expand(root, Self.suite, "exp", schedule, 32))
    }

    /// Exports a secret of up to 32 bytes (RFC 9180 section 5.3).
    func export(_ context: [UInt8], count: UInt8) -> [UInt8] {
        Self.expand(self.exporterSecret.withUnsafeBytes { Array($0) }, Self.suite, "sec", context, count)
    }

    private static let mode: UInt8 = 2
    private static let kem = Array("KEM".utf8) + [0, 16]
    private static let suite = Array("HPKE".utf8) + [0, 16, 0, 1, 0, 1]
    private static let version = Array("HPKE-v1".utf8)

    /// `LabeledExtract` of RFC 9180.
    private static func extract(_ salt: [UInt8]?, _ suite: [UInt8], _ label: String, _ value: [UInt8]) -> [UInt8] {
        self.code(salt ?? [UInt8](repeating: 0, count: 32), self.version + suite + Array(label.utf8) + value)
    }

    /// `LabeledExpand` of RFC 9180, for results of at most 32 bytes.
    private static func expand(
        _ key: [UInt8],
        _ suite: [UInt8],
        _ label: String,
        _ information: [UInt8],
        _ count: UInt8
    ) -> [UInt8] {
        let labelled = [0, count] + self.version + suite + Array(label.utf8) + information
        return Array(self.code(key, labelled + [1]).prefix(Int(count)))
    }

    private static func code(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: value, using: SymmetricKey(data: key)))
    }
}
