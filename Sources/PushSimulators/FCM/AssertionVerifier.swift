package import Foundation

/// Checks the assertions with which a service account asks Google for access tokens.
package struct AssertionVerifier: Sendable {
    /// The audience that Google's libraries name in an assertion, whatever the token endpoint is.
    package static let audience = "https://oauth2.googleapis.com/token"
    private static let scopes: Set<Substring> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]

    private struct Claims: Decodable {
        let iss: String
        let scope: String
        let aud: String
        let iat: Double
        let exp: Double
    }

    package let key: SigningKey
    package let clientEmail: String
    package let keyID: String

    package init(key: SigningKey, clientEmail: String, keyID: String) {
        self.key = key
        self.clientEmail = clientEmail
        self.keyID = keyID
    }

    /// The reason to reject an assertion; `nil` if the assertion is valid.
    package func objection(to assertion: String, now: Date) -> String? {
        guard let token = JSONWebToken(assertion) else { return "Invalid JWT" }
        guard token.header.alg == "RS256" else { return "Invalid JWT: alg" }
        guard token.header.kid == nil || token.header.kid == self.keyID else { return "Invalid JWT: kid" }
        guard self.key.isRS256(token.signature, of: token.signedText) else { return "Invalid JWT Signature." }
        guard let claims = token.claims(as: Claims.self) else { return "Invalid JWT: claims" }
        guard claims.iss == self.clientEmail else { return "Invalid issuer" }
        guard claims.aud == Self.audience else { return "Invalid audience" }
        guard claims.scope.split(separator: " ").contains(where: Self.scopes.contains) else {
            return "Invalid OAuth scope"
        }
        let time = now.timeIntervalSince1970
        // Five minutes are allowed for clock skew.
        guard claims.iat <= time + 300, time < claims.exp + 300, (1...3600).contains(claims.exp - claims.iat) else {
            return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
        }
        return nil
    }
}
