package import Foundation
internal import PushCore
internal import PushStore

/// An issuer of tokens (OpenID Connect, or OAuth with RFC 9068) that the server trusts.
package struct Issuer: Sendable {
    package let rules: IssuerRules
    package let keys: IssuerKeys
    /// The machine's clock. The server compares the issuer's times with it, even while a
    /// `HeldClock` does not accept it.
    let now: @Sendable () -> Date

    package init(rules: IssuerRules, keys: IssuerKeys, now: @escaping @Sendable () -> Date = { Date() }) {
        self.rules = rules
        self.keys = keys
        self.now = now
    }

    /// The identity in a token, and the generation of the keys that verified it.
    ///
    /// Cheap checks come first. Waits if the token is signed with an unknown key.
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
