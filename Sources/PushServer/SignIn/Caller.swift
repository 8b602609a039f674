internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The user who calls, and the reach of the credentials. A class, so that caching one does not copy its parts.
final class Caller: Sendable {
    let user: User
    /// The token of the request; `nil` if the user signed in with the password or an equivalent.
    let token: TokenGrant?
    /// Whether a certificate or a trusted proxy has identified the user.
    let isVouched: Bool
    /// `nil`: no limit.
    let quota: CallerQuota?

    init(_ user: User, token: TokenGrant? = nil, isVouched: Bool = false, quota: CallerQuota? = nil) {
        self.user = user
        self.token = token
        self.isVouched = isVouched
        self.quota = quota
    }

    /// Whether the token, if there is one, is valid at that time.
    func isValid(at now: Date) -> Bool {
        self.token.map { now < $0.expiresAt } ?? true
    }

    /// Throws a `forbidden` problem if the role is too low, and `InsufficientScope` if only the token lacks a scope.
    func check(for access: Access) throws {
        guard case .atLeast(let role, let scopes) = access else { return }
        guard self.user.role >= role else { throw Problem(.forbidden) }
        guard let token, !token.scopes.isSuperset(of: scopes) else { return }
        throw InsufficientScope(required: scopes, missing: scopes.subtracting(token.scopes))
    }
}

/// A caller whose role suffices, with a token that lacks a scope.
struct InsufficientScope: Error {
    /// All scopes that the route requires.
    let required: Scopes
    let missing: Scopes
}
