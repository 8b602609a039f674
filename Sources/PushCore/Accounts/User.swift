/// A user, with the properties that a sign-in reads.
package struct User: Sendable, Hashable {
    package let id: Int64
    package let name: Username
    package let role: Role
    /// A number that changes whenever the password changes.
    package let passwordNumber: Int64
    /// Whether the user is disabled. A disabled user is refused like a user who does not exist.
    package let isDisabled: Bool
    /// The user's apps. An administrator manages all apps, whatever this set contains.
    package let apps: Set<AppName>

    package init(
        id: Int64,
        name: Username,
        role: Role,
        apps: Set<AppName> = [.usual],
        passwordNumber: Int64,
        isDisabled: Bool
    ) {
        (self.id, self.name, self.role, self.apps) = (id, name, role, apps)
        (self.passwordNumber, self.isDisabled) = (passwordNumber, isDisabled)
    }

    /// Whether the user belongs to the app; an administrator belongs to all apps.
    package func mayUse(_ app: AppName) -> Bool {
        if self.role == .admin { return true }
        // Nearly every user belongs to a single app; this comparison avoids hashing its name.
        return self.apps.count == 1 ? self.apps.first == app : self.apps.contains(app)
    }
}
