internal import Bytes
internal import Cryptography
internal import Foundation
package import PushCore

/// The key that identifies this server to push services (RFC 8292). Browsers subscribe with the
/// public half of this key.
package struct VAPIDKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Reads a key: PKCS#8 in PEM, or 32 bytes in base64url, as web-push tools print them.
    package init(_ text: Secret<String>) throws(SenderSettingsError) {
        let trimmed = text.exposed.trimmingCharacters(in: .whitespacesAndNewlines)
        do {
            // Tools print text before the key, as OpenSSL does.
            if trimmed.contains("-----BEGIN ") {
                self.key = try P256.Signing.PrivateKey(pemRepresentation: trimmed)
            } else {
                self.key = try P256.Signing.PrivateKey(
                    rawRepresentation: Base64.bytes(inAnySpelling: trimmed.utf8) ?? []
                )
            }
        } catch {
            // The error of the initializer may quote the key, so this error is not passed on.
            throw .badKey(field: "keyFile", expected: "a P-256 private key, PKCS#8 in PEM or 32 bytes in base64url")
        }
    }

    /// Generates a key, PKCS#8 in PEM.
    package static func generateText() -> String {
        P256.Signing.PrivateKey().pemRepresentation + "\n"
    }

    /// The value that a page passes to `subscribe` as `applicationServerKey`: 65 bytes in
    /// base64url.
    package var publicText: String {
        Base64.url.text(of: self.key.publicKey.x963Representation)
    }

    /// A JWT that identifies this server to `audience` until `end` (RFC 8292 section 2).
    func token(audience: String, end: Date, subject: String) throws -> String {
        // The audience comes from a parsed URL, so JSON needs no escapes.
        let claims =
            "{\"aud\":\"\(audience)\",\"exp\":\(Int(end.timeIntervalSince1970)),\"sub\":\(JSONText.quoted(subject))}"
        return try JSONWebSignature.compact(header: "{\"typ\":\"JWT\",\"alg\":\"ES256\"}", claims: claims) { bytes in
            try self.key.signature(for: bytes).rawRepresentation
        }
    }
}
