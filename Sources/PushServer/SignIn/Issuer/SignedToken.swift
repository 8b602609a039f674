internal import Bytes
internal import PushAPI

/// A JSON Web Token as the client has sent it, in the compact form of a signed token (RFC 7515).
/// The signature is not verified yet.
///
/// The configuration decides how the token is verified. The token's header only selects one of the
/// allowed algorithms, and one of the keys that the issuer has published.
struct SignedToken: Sendable {
    /// The length of the longest accepted token, in bytes.
    static let maximumLength = 8192
    private static let maximumKeyID = 256
    /// The accepted types of tokens (RFC 7519 section 5.1, RFC 9068 section 2.1); types of tokens
    /// for logouts or proofs are not accepted.
    private static let types: Set = ["jwt", "at+jwt"]
    /// Fields of the header that the server refuses: they would let the token itself choose the
    /// key that verifies it, or determine how its content is read.
    private static let refusedFields = ["crit", "jku", "jwk", "x5u", "x5c", "b64", "zip", "enc", "cty"]

    let algorithm: TokenAlgorithm
    /// The id of the key that has signed the token (`kid`); if it is `nil`, the issuer must have
    /// exactly one suitable key.
    let keyID: String?
    let claims: TokenObject
    /// The signed bytes: the header and the claims as the client sent them.
    let message: [UInt8]
    let signature: [UInt8]

    /// Whether a text seems to be a signed token. Signed tokens contain dots; the server's own
    /// tokens never do.
    static func looksLike(_ text: Substring) -> Bool {
        text.utf8.contains(UInt8(ascii: "."))
    }

    init(_ text: Substring, algorithms: Set<TokenAlgorithm>) throws(TokenFault) {
        guard text.utf8.count <= Self.maximumLength else {
            throw .form("the token is longer than \(Self.maximumLength) bytes")
        }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count != 5 else { throw .form("encrypted tokens are not taken") }
        guard parts.count == 3 else { throw .form("the token does not have three parts") }
        guard
            let header = Base64.url.bytes(in: parts[0]), let payload = Base64.url.bytes(in: parts[1]),
            let signature = Base64.url.bytes(in: parts[2])
        else { throw .form("a part of the token is not base64url") }
        let fields = try TokenObject(header, "header")
        self.algorithm = try Self.algorithm(fields, among: algorithms)
        self.keyID = try Self.keyID(fields)
        self.claims = try TokenObject(payload, "claims")
        self.message = Array(bytes[..<parts[1].endIndex])
        self.signature = signature
    }

    private static func algorithm(
        _ header: TokenObject,
        among allowed: Set<TokenAlgorithm>
    ) throws(TokenFault) -> TokenAlgorithm {
        for name in Self.refusedFields where header[name] != nil {
            throw .form("the header has \(name), which is not taken")
        }
        if let type = try header.text("typ") {
            // RFC 7515 section 4.1.9: the prefix `application/` may be left out, and upper and
            // lower case are equal.
            let name = type.lowercased()
            guard self.types.contains(name.hasPrefix("application/") ? String(name.dropFirst(12)) : name) else {
                throw .form("typ must be JWT or at+jwt")
            }
        }
        let name = try header.text("alg")
        guard let algorithm = name.flatMap(TokenAlgorithm.init(rawValue:)), allowed.contains(algorithm) else {
            throw .mismatch(
                .algorithm,
                "the algorithm is not one of those allowed",
                found: name,
                expected: allowed.map(\.rawValue).sorted()
            )
        }
        return algorithm
    }

    private static func keyID(_ header: TokenObject) throws(TokenFault) -> String? {
        let id = try header.text("kid")
        guard (id?.utf8.count ?? 0) <= Self.maximumKeyID else { throw .form("kid is too long") }
        return id
    }
}
