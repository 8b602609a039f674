package import Foundation
internal import PushCore
internal import PushStore

/// An issuer of tokens (OpenID Connect, or OAuth with RFC 9068) whom the server believes.
package struct Issuer: Sendable {
    package let rules: IssuerRules
    package let keys: IssuerKeys
    /// The machine's clock: the issuer's times are compared with it, also while a `HeldClock` does not believe it.
    let now: @Sendable () -> Date

    package init(rules: IssuerRules, keys: IssuerKeys, now: @escaping @Sendable () -> Date = { Date() }) {
        self.rules = rules
        self.keys = keys
        self.now = now
    }

    /// Whom a token names, and the generation of the keys that it was verified with.
    ///
    /// What costs little is checked first. Waits if the token is signed with a key that is not known yet.
    func identity(in text: Substring) async throws(TokenFault) -> (IssuedIdentity, generation: Int) {
        let token = try SignedToken(text, algorithms: self.rules.algorithms)
        let identity = try self.rules.identity(in: token.claims, now: self.now())
        var found = self.keys.current(now: self.now())
        if found?.keys.hasKey(for: token) != true {
            guard await self.keys.refreshed() == .done else { throw .unavailable }
            found = self.keys.current(now: self.now())
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
