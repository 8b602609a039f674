internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The user who sends a request, and the rights of the user's credentials. It is a class, so that
/// the cache copies only a reference.
final class Caller: Sendable {
    let user: User
    /// The identifier of the user's account; `nil` if the caller is a process at the local admin
    /// socket, which has no account.
    let account: AccountID?
    /// The token of the request; `nil` if the user signed in with a password or in another way
    /// without a token of the server.
    let token: TokenGrant?
    /// The rights that the token of an issuer in the request gives; `nil` if the request has no
    /// such token.
    let issued: IssuedGrant?
    /// Whether a certificate or a trusted proxy has identified the user.
    let isVouched: Bool
    /// The quota of all requests; `nil` if they have no limit.
    let quota: CallerQuota?
    /// The quota of requests that store something; `nil` if they have no limit.
    let changes: CallerQuota?

    init(
        _ user: User,
        account: AccountID? = nil,
        token: TokenGrant? = nil,
        issued: IssuedGrant? = nil,
        isVouched: Bool = false,
        quota: CallerQuota? = nil,
        changes: CallerQuota? = nil
    ) {
        self.user = user
        self.account = account
        self.token = token
        self.issued = issued
        self.isVouched = isVouched
        self.quota = quota
        self.changes = changes
    }

    /// The scopes of the token; `nil` without a token: the caller then has all scopes of the role.
    var scopes: Scopes? { self.token?.scopes ?? self.issued?.scopes }

    /// The time at which the token expires, if there is one.
    var expiresAt: Date? { self.token?.expiresAt ?? self.issued?.expiresAt }

    /// Whether the token, if there is one, has not expired at that time.
    func isValid(at now: Date) -> Bool {
        self.expiresAt.map { now < $0 } ?? true
    }

    /// Whether the caller may manage all users.
    var isManaging: Bool { self.user.role == .admin && self.scopes?.contains(.manage) ?? true }

    /// Throws a `forbidden` problem if the role is too low, and `InsufficientScope` if the role
    /// suffices but the token lacks a scope.
    func check(for access: Access) throws {
        guard case .atLeast(let role, let scopes, let seeing) = access else { return }
        let maySee = self.user.role.seesAll && !seeing.isEmpty
        if maySee, self.scopes?.isSuperset(of: seeing) ?? true { return }
        // A viewer needs the scopes `seeing`; a caller with the required role needs the route's
        // scopes.
        let required = self.user.role.includes(role) ? scopes : seeing
        guard maySee || self.user.role.includes(role) else { throw Problem(.forbidden) }
        guard let own = self.scopes, !own.isSuperset(of: required) else { return }
        throw InsufficientScope(required: required, missing: required.subtracting(own))
    }
}

/// The error for a caller whose role suffices, but whose token lacks a scope.
struct InsufficientScope: Error {
    /// All scopes that the route requires.
    let required: Scopes
    let missing: Scopes
}
