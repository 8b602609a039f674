package import Foundation
internal import PushCore

/// An issuer of tokens (OpenID Connect, or OAuth with RFC 9068) that the server trusts.
package struct Issuer: Sendable {
    package let rules: IssuerRules
    package let keys: IssuerKeys
    /// The machine's clock. The server compares the times in tokens with this clock, even while a
    /// `HeldClock` does not accept the machine's time for other purposes.
    let now: @Sendable () -> Date

    package init(rules: IssuerRules, keys: IssuerKeys, now: @escaping @Sendable () -> Date = { Date() }) {
        self.rules = rules
        self.keys = keys
        self.now = now
    }

    /// The identity in a token, and the generation of the keys that verified it.
    ///
    /// The cheap checks come before the check of the signature. If the token is signed with an
    /// unknown key, this method waits until the issuer's keys are read again.
    func identity(in text: Substring) async throws(TokenFault) -> (IssuedIdentity, generation: Int) {
        let token = try SignedToken(text, algorithms: self.rules.algorithms)
        let identity = try self.rules.identity(in: token.claims, now: self.now())
        var found = self.keys.current(now: self.now())
        if found?.keys.hasKey(for: token) != true {
            guard await self.keys.refreshed() == .done else { throw .unavailable }
            found = self.keys.current(now: self.now())
        }
        guard let (keys, generation) = found else { throw .unavailable }
        guard keys.hasKey(for: token) else {
            let found = "\(token.keyID ?? "no kid") for \(token.algorithm.rawValue)"
            throw .mismatch(.kid, "the issuer has no such key", found: found, expected: keys.names)
        }
        guard keys.verifies(token) else { throw .signature }
        return (identity, generation)
    }
}

/// The rights that a verified token of an issuer gives, and their end.
struct IssuedGrant: Sendable, Hashable {
    let token: IssuedToken
    let scopes: Scopes
    let expiresAt: Date
    /// The generation of the keys that verified the token.
    let generation: Int
}
