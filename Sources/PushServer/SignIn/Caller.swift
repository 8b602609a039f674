internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The user who calls, and the rights of the credentials. It is a class, so that caching one does
/// not copy its parts.
final class Caller: Sendable {
    let user: User
    /// `nil`: the caller is a process at the local admin socket, which has no account.
    let account: AccountID?
    /// The token of the request; `nil` if the user signed in with a password or in another way
    /// without a token of the server.
    let token: TokenGrant?
    /// The rights that the issuer's token of the request gives; `nil` if it has none.
    let issued: IssuedGrant?
    /// Whether a certificate or a trusted proxy has identified the user.
    let isVouched: Bool
    /// `nil`: no limit.
    let quota: CallerQuota?
    /// The quota of requests that store something; `nil`: no limit.
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

    /// The scopes of the token; `nil` without a token: all scopes of the role.
    var scopes: Scopes? { self.token?.scopes ?? self.issued?.scopes }

    /// The time at which the token expires, if there is one.
    var expiresAt: Date? { self.token?.expiresAt ?? self.issued?.expiresAt }

    /// Whether the token, if there is one, is valid at that time.
    func isValid(at now: Date) -> Bool {
        self.expiresAt.map { now < $0 } ?? true
    }

    /// Whether the caller may manage all users.
    var isManaging: Bool { self.user.role == .admin && self.scopes?.contains(.manage) ?? true }

    /// Throws a `forbidden` problem if the role is too low, and `InsufficientScope` if only the
    /// token lacks a scope.
    func check(for access: Access) throws {
        guard case .atLeast(let role, let scopes, let seeing) = access else { return }
        let maySee = self.user.role.seesAll && !seeing.isEmpty
        if maySee, self.scopes?.isSuperset(of: seeing) ?? true { return }
        // A viewer needs another scope than a role that changes something.
        let required = self.user.role.includes(role) ? scopes : seeing
        guard maySee || self.user.role.includes(role) else { throw Problem(.forbidden) }
        guard let own = self.scopes, !own.isSuperset(of: required) else { return }
        throw InsufficientScope(required: required, missing: required.subtracting(own))
    }
}

/// A caller whose role suffices, with a token that lacks a scope.
struct InsufficientScope: Error {
    /// All scopes that the route requires.
    let required: Scopes
    let missing: Scopes
}
