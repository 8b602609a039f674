internal import Cryptography

/// An algorithm that an issuer may use to sign its tokens (RFC 7518 section 3.1, RFC 8037 section
/// 3.1).
///
/// All these algorithms need the issuer's private key. `none` and HMAC are not accepted: with
/// `none`, nobody signs, and with HMAC, the server would have the same key as the issuer.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// The algorithm Ed25519.
    case edDSA = "EdDSA"

    enum Method: Sendable, Hashable {
        case rsa(RSA.Signing.Padding, SignatureHash)
        case ecdsa(ECDSA.Curve)
        case ed25519
    }

    var method: Method {
        switch self {
        case .rs256: .rsa(.pkcs1v15, .sha256)
        case .rs384: .rsa(.pkcs1v15, .sha384)
        case .rs512: .rsa(.pkcs1v15, .sha512)
        case .ps256: .rsa(.pss, .sha256)
        case .ps384: .rsa(.pss, .sha384)
        case .ps512: .rsa(.pss, .sha512)
        case .es256: .ecdsa(.p256)
        case .es384: .ecdsa(.p384)
        case .es512: .ecdsa(.p521)
        case .edDSA: .ed25519
        }
    }
}
