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
        (self.id, self.name, self.role, self.apps) = (id, name, role, apps)
        (self.passwordNumber, self.isDisabled) = (passwordNumber, isDisabled)
    }
}

extension User {
    /// Whether the user belongs to the app; administrators belong to all.
    package func mayUse(_ app: AppName) -> Bool {
        if self.role == .admin { return true }
        // Nearly every user belongs to one app, so the name need not be hashed.
        return self.apps.count == 1 ? self.apps.first == app : self.apps.contains(app)
    }

    /// Whether the user may know of another user. Administrators know all users; others know the
    /// users with whom they share an app.
    package func maySee(_ other: User) -> Bool {
        self.role == .admin || !self.apps.isDisjoint(with: other.apps)
    }

    /// Whether the user may read and set the tags of another user, and enrol its devices.
    ///
    /// Tags and sessions belong to the whole account and give access to all of its apps. So a
    /// publisher must belong to all of these apps. A publisher manages only users with the role
    /// `device`, and so not itself.
    package func mayManage(_ other: User) -> Bool {
        self.role == .admin || other.role == .device && other.apps.isSubset(of: self.apps)
    }

    package var rights: AccountRights { AccountRights(role: self.role, apps: self.apps) }
}

/// A user as lists show it.
package struct UserEntry: Sendable, Hashable {
    package let name: Username
    package let role: Role
    package let apps: Set<AppName>
    package let createdAt: Date
    package let isDisabled: Bool
    package let hasPassword: Bool
    /// Whether the user gets end-to-end payloads only.
    package let requiresEncryption: Bool
    /// The tags that the user was given, sorted.
    package let tags: [Tag]
    /// When a provider last accepted a push to one of the user's `countedForPush` newest devices.
    package let pushedAt: Date?
    /// When the user last fetched one of the latest notifications in its list, as in
    /// `DeviceEntry.fetchedAt`.
    package let fetchedAt: Date?

    /// The number of devices that a list examines for each user, since a user may have any number.
    package static let countedForPush = 20
}

/// The outcome of a change to a user.
package enum UserChange: Sendable, Hashable {
    case done
    case missing
    /// The user is the only enabled administrator: after the change, no administrator could undo
    /// it.
    case lastAdministrator
}
