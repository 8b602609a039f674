package import PushCore

/// A change of a user's role, password or apps, of whether the user is disabled or requires
/// end-to-end encryption; `nil` leaves a property as it is.
package struct AccountChange: Sendable, Hashable {
    package var role: Role?
    package var apps: Set<AppName>?
    package var password: PasswordHash?
    package var isDisabled: Bool?
    package var requiresEncryption: Bool?
    /// The issuer's token whose owner becomes, or already is, the owner of the account; `nil`: the
    /// owner stays.
    package var issued: IssuedToken?
    /// The user who has presented the account's password, which must still be the same; `nil`: the
    /// change needs no password.
    var presenter: User?

    /// Whether the change takes the status of an enabled administrator away. The store then reads
    /// whether the user is the last enabled administrator.
    package var isLosing: Bool { self.role.map { $0 != .admin } ?? false || self.isDisabled == true }

    package func decide(_ account: StoredAccount?, isLastAdministrator: Bool) -> AccountStep {
        guard let account else { return .end(.missing) }
        if let presenter, account.id != presenter.id || !account.admits(presenter) { return .end(.missing) }
        var isNews = true
        if let issued {
            guard issued.isOfOwner(of: account.issued), !issued.isOlder(than: account.issued) else {
                return .end(.missing)
            }
            // A newer token with the same rights as the last one ends no session.
            isNews =
                self.role != nil || self.apps != nil || self.password != nil || self.isDisabled != nil
                || account.issued?.rights != issued.account.rights
        }
        if isLastAdministrator { return .end(.lastAdministrator) }
        let isGaining = account.rights?.gains(self.role, self.apps) ?? true
        return .write(
            AccountPlan(
                user: account.id,
                change: self,
                isNews: isNews,
                endsSessions: self.password != nil || isNews && isGaining,
                // A user who gains rights is still the same person on the same devices.
                retiresDevices: self.password != nil
            )
        )
    }

    /// The outcome of the deletion of a user; the store deletes the user if it is `done`.
    package static func deletion(of account: StoredAccount?, isLastAdministrator: Bool) -> UserChange {
        if account == nil { return .missing }
        return isLastAdministrator ? .lastAdministrator : .done
    }
}

/// The next step of a store that changes a user.
package enum AccountStep: Sendable, Hashable {
    /// Write nothing.
    case end(UserChange)
    case write(AccountPlan)
}

/// A change of a user that is written.
package struct AccountPlan: Sendable, Hashable {
    package let user: Int64
    package let change: AccountChange
    /// Whether the change writes more than the issued token; if so, cached credentials are
    /// evicted.
    package let isNews: Bool
    package let endsSessions: Bool
    /// Whether the devices that were last registered with an ended session are retired.
    package let retiresDevices: Bool
}
