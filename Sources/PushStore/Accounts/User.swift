package import Foundation
package import PushCore

/// A user, as sign-in reads it.
package struct User: Sendable, Hashable {
    package let id: Int64
    package let name: Username
    package let role: Role
    /// Changes with each change of the password.
    package let passwordNumber: Int64
    /// A disabled user is refused like one who does not exist.
    package let isDisabled: Bool
    /// The apps that the user belongs to; administrators manage all.
    package let apps: Set<AppName>

    package init(
        id: Int64,
        name: Username,
        role: Role,
        apps: Set<AppName> = [.usual],
        passwordNumber: Int64,
        isDisabled: Bool
    ) {
        self.id = id
        self.name = name
        self.role = role
        self.apps = apps
        self.passwordNumber = passwordNumber
        self.isDisabled = isDisabled
    }
}

extension User {
    /// Whether the user belongs to the app; administrators belong to all.
    package func mayUse(_ app: AppName) -> Bool {
        self.role == .admin || self.apps.contains(app)
    }
}

/// A user as lists show it.
package struct UserEntry: Sendable, Hashable {
    package let name: Username
    package let role: Role
    package let apps: Set<AppName>
    package let createdAt: Date
    package let isDisabled: Bool
    package let hasPassword: Bool
    /// The tags that the user was given, sorted.
    package let tags: [Tag]

    package init(
        name: Username,
        role: Role,
        apps: Set<AppName>,
        tags: [Tag],
        createdAt: Date,
        isDisabled: Bool,
        hasPassword: Bool
    ) {
        self.name = name
        self.role = role
        self.apps = apps
        self.tags = tags
        self.createdAt = createdAt
        self.isDisabled = isDisabled
        self.hasPassword = hasPassword
    }
}

/// The outcome of a change to a user.
package enum UserChange: Sendable, Hashable {
    case done
    case missing
    /// The user is the only enabled administrator: after the change, no administrator could undo it.
    case lastAdministrator
}
