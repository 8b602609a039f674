package import Foundation

/// The rights that an issuer's token gives. A property is `nil` if the token's claims do not set
/// it; then the account's own value counts.
package struct IssuedRights: Sendable, Hashable {
    package let role: Role?
    package let apps: Set<AppName>?
    /// The scopes; `nil` for the default scopes of the role.
    package let scopes: Scopes?

    package init(role: Role?, apps: Set<AppName>?, scopes: Scopes?) {
        (self.role, self.apps, self.scopes) = (role, apps, scopes)
    }

    /// The scopes that the token gives, limited to those of a role.
    package func scopes(as role: Role) -> Scopes {
        self.scopes?.intersection(role.scopes) ?? role.usualScopes
    }
}

/// The owner of an account, who is a user of a token issuer, and the newest token that has given
/// the account rights.
package struct IssuedAccount: Sendable, Hashable {
    /// A keyed hash of the issuer and the subject, 16 bytes long.
    package let owner: Data
    package let issuedAt: Date
    package let rights: IssuedRights

    /// Rounds `issuedAt` to milliseconds, as the store does.
    package init(owner: Data, issuedAt: Date, rights: IssuedRights) {
        self.owner = owner
        self.issuedAt = Date(milliseconds: issuedAt.milliseconds)
        self.rights = rights
    }
}

/// A verified token of an issuer, with which a user signs in to an account.
package struct IssuedToken: Sendable, Hashable {
    /// The owner, time and rights that the account has once it has accepted this token.
    package let account: IssuedAccount
    /// The hashes of the same owner under former names of the issuer.
    package let formerOwners: Set<Data>

    package init(_ account: IssuedAccount, formerOwners: Set<Data> = []) {
        (self.account, self.formerOwners) = (account, formerOwners)
    }

    /// Whether the token belongs to the user who owns the account. Also `true` for an account
    /// without an owner: its first user becomes the owner.
    package func isOfOwner(of stored: IssuedAccount?) -> Bool {
        stored.map { $0.owner == self.account.owner || self.formerOwners.contains($0.owner) } ?? true
    }

    /// Whether the account has accepted a token that was issued later than this token.
    package func isOlder(than stored: IssuedAccount?) -> Bool {
        stored.map { self.account.issuedAt < $0.issuedAt } ?? false
    }
}
