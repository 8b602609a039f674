/// An algorithm that an issuer may sign its tokens with (RFC 7518 section 3.1, RFC 8037 section 3.1).
///
/// All of them need the issuer's private key. There is no `none`, and no HMAC, whose key would be one that the server has, too.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// RSA with PKCS#1 version 1.5 and SHA-256.
    case rs256 = "RS256"
    /// RSA with PSS and SHA-256.
    case ps256 = "PS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// Ed25519.
    case edDSA = "EdDSA"
}
