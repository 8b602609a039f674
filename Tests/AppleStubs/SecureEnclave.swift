// Declarations only: see README.md in this folder. They are compiled in PushClient's module, since
// they use CryptoKit's types under the names that these have on Linux.
// swift-format-ignore-file
internal import Cryptography
internal import Foundation
internal import Security

enum SecureEnclave {
    static var isAvailable: Bool { false }

    enum P256 {
        enum Signing {
            struct PrivateKey {
                var dataRepresentation: Data { Data() }
                var publicKey: Cryptography.P256.Signing.PublicKey { fatalError() }

                init(compactRepresentable: Bool = true, accessControl: SecAccessControl) throws {}
                init(dataRepresentation: Data) throws {}

                func signature<D: DataProtocol>(for data: D) throws -> Cryptography.P256.Signing.ECDSASignature {
                    fatalError()
                }
            }
        }

        enum KeyAgreement {
            struct PrivateKey {
                var dataRepresentation: Data { Data() }
                var publicKey: Cryptography.P256.KeyAgreement.PublicKey { fatalError() }

                init(compactRepresentable: Bool = true, accessControl: SecAccessControl) throws {}
                init(dataRepresentation: Data) throws {}

                func sharedSecretFromKeyAgreement(with publicKeyShare: Cryptography.P256.KeyAgreement.PublicKey) throws
                    -> Cryptography.SharedSecret
                { fatalError() }
            }
        }
    }
}
