#if canImport(Security)
    internal import Foundation
    internal import Security

    #if canImport(CryptoKit)
        internal import CryptoKit
    #else
        internal import Cryptography
    #endif

    extension SecureEnclave.P256.KeyAgreement.PrivateKey: AgreementKey {}
    extension SecureEnclave.P256.Signing.PrivateKey: SignatureKey {}

    extension PrivateKeys {
        /// Creates keys in the Secure Enclave; `nil` on a device without one. An extension can use
        /// the keys while the device is locked.
        static func inSecureEnclave() throws -> PrivateKeys? {
            let access = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            guard SecureEnclave.isAvailable,
                let control = SecAccessControlCreateWithFlags(nil, access, .privateKeyUsage, nil)
            else { return nil }
            let signing = try SecureEnclave.P256.Signing.PrivateKey(accessControl: control)
            let agreement = try SecureEnclave.P256.KeyAgreement.PrivateKey(accessControl: control)
            return .inSecureEnclave(signing: signing.dataRepresentation, agreement: agreement.dataRepresentation)
        }
    }
#endif
