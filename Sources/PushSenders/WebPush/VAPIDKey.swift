internal import Bytes
internal import Cryptography
internal import Foundation
package import PushCore

/// The key that identifies the sender to push services, RFC 8292: browsers subscribe with its
/// public half.
package struct VAPIDKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Reads PKCS#8 in PEM, or the 32 bytes in base64url that web-push tools print.
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
            // The error may quote the key, so it is not passed on.
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

    /// A JWT that identifies the sender to `audience` until `end`, RFC 8292 section 2.
    func token(audience: String, end: Date, subject: String) throws -> String {
        // The audience comes from a parsed URL, so JSON needs no escapes.
        let claims =
            "{\"aud\":\"\(audience)\",\"exp\":\(Int(end.timeIntervalSince1970)),\"sub\":\(JSONText.quoted(subject))}"
        return try JSONWebSignature.compact(header: "{\"typ\":\"JWT\",\"alg\":\"ES256\"}", claims: claims) { bytes in
            try self.key.signature(for: bytes).rawRepresentation
        }
    }
}
