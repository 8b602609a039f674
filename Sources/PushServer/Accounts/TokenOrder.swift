internal import Foundation
internal import PushAPI
internal import PushCore

/// The requested scopes and lifetime of a token.
struct TokenOrder {
    let scopes: Scopes
    let lifetime: Duration

    /// Reads a request's body. If the body has no lifetime, the lifetime is `usual`. If it has no
    /// scopes, the scopes are `scopes` or, if `scopes` is `nil`, the role's usual scopes.
    ///
    /// Throws an `invalid-member` problem for a scope that the role cannot have, or a lifetime
    /// beyond the maximum.
    init(
        _ body: JSONBody,
        role: Role,
        usual: Duration,
        maximum: Duration,
        scopes: Scopes? = nil
    ) throws(Problem) {
        // As absent members, these would give the token more rights or a longer life.
        try body.refuseNull(["Scopes", "ExpiresIn"])
        self.scopes = try Self.scopes(body, role: role) ?? scopes ?? role.usualScopes
        let lifetime = try body.integer("ExpiresIn").map { Duration.seconds($0) } ?? usual
        guard lifetime >= BearerToken.lifetime.lowerBound, lifetime <= maximum else {
            throw Problem(.invalidMember, "ExpiresIn must be 1 to \(maximum.components.seconds) seconds")
        }
        self.lifetime = lifetime
    }

    /// The audit's text about a token that is valid until `end`.
    func summary(until end: Date) -> String {
        "scopes \(self.scopes), until \(end.rfc3339)"
    }

    private static func scopes(_ body: JSONBody, role: Role) throws(Problem) -> Scopes? {
        guard let names = try body.strings("Scopes") else { return nil }
        do throws(ScopeError) {
            return try role.scopes(named: names)
        } catch {
            throw Problem(.invalidMember, "Scopes: \(error)")
        }
    }
}
