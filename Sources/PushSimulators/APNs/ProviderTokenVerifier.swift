package import Foundation
internal import Synchronization

/// Checks that a provider token is for the simulator's team, and is signed by the simulator's key.
package final class ProviderTokenVerifier: Sendable {
    private struct Claims: Decodable {
        let iss: String
        let iat: Double
    }

    private let key: SigningKey
    private let keyID: String
    private let teamID: String
    /// The verified tokens, each with its time of issue. They are cached, because a sender uses a
    /// token for most of an hour, and a verification costs more than the rest of a request. A lock
    /// protects the cache, because the threads of all connections use it.
    private let known = Mutex<[String: Date]>([:])
    private static let knownLimit = 64

    package init(key: SigningKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// Returns the time at which the token was issued, even if the token is too old.
    ///
    /// Throws `InvalidProviderToken` if the token is malformed, names another key or team, or is
    /// not signed by the key.
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
