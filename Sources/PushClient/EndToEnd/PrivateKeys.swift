internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// A private key for key agreement, in memory or in the Secure Enclave.
protocol AgreementKey {
    var publicKey: P256.KeyAgreement.PublicKey { get }
    func sharedSecretFromKeyAgreement(with other: P256.KeyAgreement.PublicKey) throws -> SharedSecret
}

/// A private key for signatures, in memory or in the Secure Enclave.
protocol SignatureKey {
    var publicKey: P256.Signing.PublicKey { get }
    func signature<Message: DataProtocol>(for message: Message) throws -> P256.Signing.ECDSASignature
}

extension P256.KeyAgreement.PrivateKey: AgreementKey {}
extension P256.Signing.PrivateKey: SignatureKey {}

/// The private keys of a device. In ``DeviceKeys/stored``, the text of the public keys follows the
/// private keys.
enum PrivateKeys {
    /// The bytes of the two private keys, 32 each.
    case inMemory(signing: Data, agreement: Data)
    /// The two private keys, in a form that only this device's Secure Enclave can decrypt.
    case inSecureEnclave(signing: Data, agreement: Data)

    private static let enclave = "enclave"
    private static let length = 32

    /// Reads the private keys and the text of the public keys from stored data.
    static func read(_ stored: Data) throws -> (keys: PrivateKeys, text: String) {
        let stored = Data(stored)
        let text = stored.dropFirst(2 * self.length)
        if text.starts(with: Data("sealpost-key.".utf8)) {
            let keys = (stored.prefix(self.length), stored.dropFirst(self.length).prefix(self.length))
            return (.inMemory(signing: keys.0, agreement: keys.1), String(decoding: text, as: UTF8.self))
        }
        var reader = ByteReader(stored)
        guard try reader.text() == self.enclave else { throw UnreadablePayload.malformed }
        return (.inSecureEnclave(signing: try reader.data(), agreement: try reader.data()), try reader.text())
    }

    func stored(with text: String) -> Data {
        switch self {
        case .inMemory(let signing, let agreement): return signing + agreement + Data(text.utf8)
        case .inSecureEnclave(let signing, let agreement):
            var writer = ByteWriter()
            writer.text(Self.enclave)
            writer.data(signing)
            writer.data(agreement)
            writer.text(text)
            return writer.bytes
        }
    }

    func signing() throws -> any SignatureKey {
        switch self {
        case .inMemory(let key, _): return try P256.Signing.PrivateKey(rawRepresentation: key)
        case .inSecureEnclave(let key, _):
            #if canImport(Security)
                return try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: key)
            #else
                throw UnreadablePayload.malformed
            #endif
        }
    }

    func agreement() throws -> any AgreementKey {
        switch self {
        case .inMemory(_, let key): return try P256.KeyAgreement.PrivateKey(rawRepresentation: key)
        case .inSecureEnclave(_, let key):
            #if canImport(Security)
                return try SecureEnclave.P256.KeyAgreement.PrivateKey(dataRepresentation: key)
            #else
                throw UnreadablePayload.malformed
            #endif
        }
    }
}
