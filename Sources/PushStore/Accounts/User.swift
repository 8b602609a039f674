package import Foundation
package import PushCore

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
}

extension User {
    /// Whether the user belongs to the app; an administrator belongs to all apps.
    package func mayUse(_ app: AppName) -> Bool {
        if self.role == .admin { return true }
        // Nearly every user belongs to a single app; this comparison avoids hashing its name.
        return self.apps.count == 1 ? self.apps.first == app : self.apps.contains(app)
    }

    /// Whether the user may know that another user exists. Administrators know all users; other
    /// users know only the users who share an app with them.
    package func maySee(_ other: User) -> Bool {
        self.role == .admin || !self.apps.isDisjoint(with: other.apps)
    }

    /// Whether the user may read and set the tags of another user, and enrol that user's devices.
    ///
    /// Tags and sessions apply to the whole account, so they give access to all of its apps. A
    /// publisher must therefore belong to all of these apps. A publisher can manage only users
    /// with the role `device`, and so cannot manage itself.
    package func mayManage(_ other: User) -> Bool {
        self.role == .admin || other.role == .device && other.apps.isSubset(of: self.apps)
    }

    package var rights: AccountRights { AccountRights(role: self.role, apps: self.apps) }
}

/// A user in the form for lists of users.
package struct UserEntry: Sendable, Hashable {
    package let name: Username
    package let role: Role
    package let apps: Set<AppName>
    package let createdAt: Date
    package let isDisabled: Bool
    package let hasPassword: Bool
    /// Whether the user gets only end-to-end encrypted payloads.
    package let requiresEncryption: Bool
    /// The tags that were given to the user, sorted.
    package let tags: [Tag]
    /// When a provider last accepted a push to one of the user's `countedForPush` newest devices.
    package let pushedAt: Date?
    /// When the user last fetched one of the latest notifications in the user's list; see
    /// `DeviceEntry.fetchedAt`.
    package let fetchedAt: Date?

    /// The number of devices that a list of users examines for each user. The number is limited,
    /// since a user may have any number of devices.
    package static let countedForPush = 20
}

/// The outcome of a change to a user.
package enum UserChange: Sendable, Hashable {
    case done
    case missing
    /// The user is the only enabled administrator. Without this administrator, nobody could undo
    /// the change.
    case lastAdministrator
}
