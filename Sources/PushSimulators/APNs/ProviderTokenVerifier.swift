package import Foundation
internal import Synchronization

/// Checks that provider tokens are signed by the known key, for the known team.
package final class ProviderTokenVerifier: Sendable {
    private struct Claims: Decodable {
        let iss: String
        let iat: Double
    }

    private let key: SigningKey
    private let keyID: String
    private let teamID: String
    /// Verified tokens with their time: a provider repeats one for most of an hour, and a check costs more than the
    /// rest of a request. A lock, because the thread of each connection uses it.
    private let known = Mutex<[String: Date]>([:])
    private static let knownLimit = 64

    package init(key: SigningKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// Returns when the token was issued, even if that is too long ago.
    ///
    /// Throws `InvalidProviderToken` if it is malformed, of another key or team, or not signed by the key.
    package func issueDate(of token: String) throws(APNsRefusal) -> Date {
        if let date = self.known.withLock({ $0[token] }) { return date }
        guard
            let parsed = JSONWebToken(token),
            parsed.header.alg == "ES256",
            parsed.header.kid == self.keyID,
            let claims = parsed.claims(as: Claims.self),
            claims.iss == self.teamID,
            self.key.isES256(parsed.signature, of: parsed.signedText)
        else { throw APNsRefusal(.invalidProviderToken) }
        let date = Date(timeIntervalSince1970: claims.iat)
        self.known.withLock { known in
            if known.count >= Self.knownLimit { known.removeAll() }
            known[token] = date
        }
        return date
    }
}
