/// An algorithm that an issuer may use to sign its tokens (RFC 7518 section 3.1, RFC 8037 section
/// 3.1).
///
/// All of them need the issuer's private key. `none` is missing, and so is HMAC, because the
/// server would have the same key.
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
