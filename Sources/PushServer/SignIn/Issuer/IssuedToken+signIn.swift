internal import PushCore

extension IssuedToken {
    /// Whether this token may sign in to the account. If the account has accepted a newer token,
    /// this token may have only rights that the newer token and the account also have.
    func isGood(for user: User, _ stored: IssuedAccount?) -> Bool {
        guard self.isOfOwner(of: stored) else { return false }
        guard let stored, self.isOlder(than: stored) else { return true }
        let rights = self.account.rights
        return rights.isWithin(stored.rights, of: user) && user.role.includes(rights.role ?? user.role)
            && (rights.apps ?? user.apps).isSubset(of: user.apps)
    }
}

extension IssuedRights {
    /// Whether `others` include all of these rights, for this user.
    fileprivate func isWithin(_ others: IssuedRights, of user: User) -> Bool {
        let (role, most) = (self.role ?? user.role, others.role ?? user.role)
        return most.includes(role) && (self.apps ?? user.apps).isSubset(of: others.apps ?? user.apps)
            && self.scopes(as: role).isSubset(of: others.scopes(as: most))
    }
}
