package import PushCore

/// The role and the apps of an account. The rights of its sessions depend on them.
package struct AccountRights: Sendable, Hashable {
    package let role: Role
    package let apps: Set<AppName>

    /// Whether a change gives the account rights that it lacks: those of a higher role, or another
    /// app. `nil` means that the role, or the apps, do not change.
    ///
    /// Such a change ends the user's sessions and enrolment codes. Otherwise a token on an old
    /// phone would gain rights that it did not have when it was issued. Administrators already
    /// have all apps, so a new app gives them no right.
    package func gains(_ role: Role?, _ apps: Set<AppName>?) -> Bool {
        let isNewApp = apps.map { !$0.isSubset(of: self.apps) } ?? false
        return role.map { !self.role.includes($0) } ?? false || isNewApp && self.role != .admin
    }
}
