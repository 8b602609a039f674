internal import Foundation
internal import PushCore
internal import PushStore

/// An issuer of tokens (OpenID Connect, or OAuth with RFC 9068) whom the server believes.
package struct Issuer: Sendable {
    package let rules: IssuerRules
    package let keys: IssuerKeys

    package init(rules: IssuerRules, keys: IssuerKeys) {
        self.rules = rules
        self.keys = keys
    }

    /// Whom a token names, and the generation of the keys that it was verified with.
    ///
    /// What costs little is checked first. Waits if the token is signed with a key that is not known yet.
    func identity(in text: Substring, now: Date) async throws(TokenFault) -> (IssuedIdentity, generation: Int) {
        let token = try SignedToken(text, algorithms: self.rules.algorithms)
        let identity = try self.rules.identity(in: token.claims, now: now)
        var found = self.keys.current(now: now)
        if found?.keys.hasKey(for: token) != true {
            guard await self.keys.refreshed() == .done else { throw .unavailable }
            found = self.keys.current(now: now)
        }
        guard let (keys, generation) = found else { throw .unavailable }
        guard keys.hasKey(for: token) else { throw .unknownKey }
        guard keys.verifies(token) else { throw .signature }
        return (identity, generation)
    }
}

/// What a verified token of an issuer allows, and until when.
struct IssuedGrant: Sendable, Hashable {
    let token: IssuedToken
    let scopes: Scopes
    let expiresAt: Date
    /// Of the keys that it was verified with.
    let generation: Int
}
