package import Foundation
package import PushCore

/// A change of a user's role, password or apps. It can also disable or enable the user, or make
/// the user require end-to-end encryption. A property that is `nil` stays as it is.
package struct AccountChange: Sendable, Hashable {
    package var role: Role?
    package var apps: Set<AppName>?
    package var password: PasswordHash?
    package var isDisabled: Bool?
    package var requiresEncryption: Bool?
    /// An issuer's token. The token's owner becomes the owner of the account, or already is its
    /// owner. `nil`: the account's owner stays the same.
    package var issued: IssuedToken?
    /// The user who has presented the account's password, which must not have changed since then;
    /// `nil`: the change needs no password.
    var presenter: User?

    /// A change without any new property.
    package static let nothing = AccountChange()

    /// Whether the user will not be an enabled administrator after this change. If so, the store
    /// must read whether the user is the last enabled administrator.
    package var isLosing: Bool { self.role.map { $0 != .admin } ?? false || self.isDisabled == true }

    /// The outcome of the change, and the plan that the store must write. The plan is `nil` if the
    /// outcome is not `done`.
    package func decide(
        _ account: StoredAccount?,
        isLastAdministrator: Bool
    ) -> (outcome: UserChange, plan: AccountPlan?) {
        guard let account else { return (.missing, nil) }
        if let presenter, account.id != presenter.id || !account.admits(presenter) { return (.missing, nil) }
        var isNews = true
        if let issued {
            guard issued.isOfOwner(of: account.issued), !issued.isOlder(than: account.issued) else {
                return (.missing, nil)
            }
            // A newer token ends no session if it has the same rights as the last token.
            isNews =
                self.role != nil || self.apps != nil || self.password != nil || self.isDisabled != nil
                || account.issued?.rights != issued.account.rights
        }
        if isLastAdministrator { return (.lastAdministrator, nil) }
        let isGaining = account.rights?.gains(self.role, self.apps) ?? true
        let plan = AccountPlan(
            user: account.id,
            change: self,
            isNews: isNews,
            endsSessions: self.password != nil || isNews && isGaining,
            // Only a new password retires devices: a user who gains rights is still the same
            // person with the same devices.
            retiresDevices: self.password != nil
        )
        return (.done, plan)
    }

    /// The outcome of a user's deletion. If it is `done`, the store must delete the user.
    package static func deletion(of account: StoredAccount?, isLastAdministrator: Bool) -> UserChange {
        if account == nil { return .missing }
        return isLastAdministrator ? .lastAdministrator : .done
    }
}

/// A change of a user that the store must write.
package struct AccountPlan: Sendable, Hashable {
    package let user: Int64
    package let change: AccountChange
    /// `false` if the change only records that the issuer (the identity provider) has given the
    /// user a newer token with the same rights. Otherwise the servers must evict the user's cached
    /// credentials.
    package let isNews: Bool
    package let endsSessions: Bool
    /// Whether the devices that were last registered with one of the ended sessions must be
    /// retired.
    package let retiresDevices: Bool
}

/// A plan that replaces the tags that were given to a user.
package struct UserTagPlan: Sendable {
    package let user: Int64
    /// The encrypted tags; `nil` if the user has no tags.
    package let sealed: Data?
    package let keys: [Data]
    package let isErasing: Bool
    package let record: AuditRecord?

    /// Makes the plan; `nil` if there is no account. Also `nil` if `rights` is not `nil` and the
    /// account now has other rights.
    package init?(
        _ tags: Set<Tag>,
        of account: StoredAccount?,
        ifStill rights: AccountRights?,
        by record: AuditRecord?,
        _ sealing: Sealing
    ) throws {
        guard let account, rights == nil || rights == account.rights else { return nil }
        let old = Set(try account.openTags(sealing))
        self.user = account.id
        self.sealed = try tags.isEmpty ? nil : sealing.seal(tags, in: .userTags(account.id))
        self.keys = tags.map(sealing.index.hash)
        self.isErasing = !old.isEmpty
        var record = record
        record?.detail = Self.difference(from: old, to: tags)
        self.record = record
    }

    /// A text for the audit about the change, such as `added board, crew; removed night`.
    private static func difference(from old: Set<Tag>, to new: Set<Tag>) -> String {
        let parts = [("added", new.subtracting(old)), ("removed", old.subtracting(new))].compactMap { verb, tags in
            tags.isEmpty ? nil : "\(verb) \(tags.map(\.description).sorted().joined(separator: ", "))"
        }
        return parts.isEmpty ? "unchanged" : parts.joined(separator: "; ")
    }
}
