internal import Bytes
internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

extension PushClient {
    /// The certificates of the server that the client trusts.
    public enum ServerTrust: Sendable, Hashable {
        /// Trusts the certificates that the system trusts.
        case system
        /// Trusts only certificate chains that the system trusts, and in which one certificate has
        /// one of these keys.
        ///
        /// On Linux the client cannot compare the keys of a chain: there, each call throws
        /// `PushClientError.pinningUnavailable` before it sends anything.
        case pinned([KeyPin])
    }

    /// The SHA-256 of a certificate's public key with its algorithm (`SubjectPublicKeyInfo`), as
    /// in RFC 7469.
    ///
    /// ```bash
    /// openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der |
    ///     openssl dgst -sha256 -binary | base64
    /// ```
    public struct KeyPin: Sendable, Hashable {
        let hash: Data

        /// Returns `nil` if the text is not 32 bytes in Base64.
        public init?(sha256 base64: String) {
            guard let hash = Base64.standard.bytes(in: base64.utf8), hash.count == SHA256.byteCount else { return nil }
            self.hash = Data(hash)
        }

        /// Whether this pin belongs to the key.
        func matches(_ key: SubjectPublicKeyInfo) -> Bool {
            self.hash.elementsEqual(SHA256.hash(data: key.bytes))
        }
    }
}
