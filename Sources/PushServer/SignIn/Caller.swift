internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Who calls, and how far the credentials reach. A class, so that remembering one does not copy its parts.
final class Caller: Sendable {
    let user: User
    /// The token that was shown; `nil` where the user's password, or what is as good, was.
    let token: TokenGrant?
    /// `nil`: as many requests as come.
    let quota: CallerQuota?

    init(_ user: User, token: TokenGrant? = nil, quota: CallerQuota? = nil) {
        self.user = user
        self.token = token
        self.quota = quota
    }

    /// Whether the token, if it is one, is good at that time.
    func isValid(at now: Date) -> Bool {
        self.token.map { now < $0.expiresAt } ?? true
    }

    /// Throws a `forbidden` problem if the role is too low, and `InsufficientScope` if only the token is.
    func check(for access: Access) throws {
        guard case .atLeast(let role, let scopes) = access else { return }
        guard self.user.role >= role else { throw Problem(.forbidden) }
        guard let token, !token.scopes.isSuperset(of: scopes) else { return }
        throw InsufficientScope(required: scopes, missing: scopes.subtracting(token.scopes))
    }
}

/// A caller whose role would do, with a token that does not.
struct InsufficientScope: Error {
    /// All that the route asks for.
    let required: Scopes
    let missing: Scopes
}
