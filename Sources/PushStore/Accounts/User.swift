package import Foundation
package import PushCore

/// The columns of a user, for queries that name the table of users `u`.
package enum UserColumn: Int32, SelectedColumn {
    case id, name, role, apps, passwordNumber, isDisabled

    package var sql: String { self == .isDisabled ? "u.disabled_at is not null" : "u.\(self.columnName)" }
}

extension User {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let role = Role(rawValue: try row.text(UserColumn.role)) else { return nil }
        let id = try row.integer(UserColumn.id)
        self.init(
            id: id,
            name: try sealing.username(row.data(UserColumn.name), ofUser: id),
            role: role,
            apps: Set(storedApps: try row.optionalText(UserColumn.apps)),
            passwordNumber: try row.integer(UserColumn.passwordNumber),
            isDisabled: try row.flag(UserColumn.isDisabled)
        )
    }

    /// Reads the row of the user with this name. Throws `StoreError.damaged` if the row belongs to
    /// another user, because the index is damaged.
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, named name: Username, _ sealing: Sealing) throws {
        guard let user = try User(row, sealing) else { return nil }
        guard user.name == name else { throw StoreError.damaged(row: "a user's") }
        self = user
    }

    package var rights: AccountRights { AccountRights(role: self.role, apps: self.apps) }
}

/// A user in the form for lists of users.
package struct UserEntry: StoredEntity, Sendable, Hashable {
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
    /// When the user last fetched one of the latest notifications; see `DeviceEntry.fetchedAt`.
    package let fetchedAt: Date?

    /// The number of devices that a list of users examines for each user.
    package static let countedForPush = 20

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let user = try User(row, sealing) else { return nil }
        (self.name, self.role, self.apps, self.isDisabled) = (user.name, user.role, user.apps, user.isDisabled)
        self.createdAt = try row.date(ListedUserColumn.createdAt)
        self.hasPassword = !PasswordHash(phc: try row.text(ListedUserColumn.password)).isNone
        self.requiresEncryption = try row.flag(ListedUserColumn.requiresEncryption)
        self.tags = try sealing.tags(try row.optionalData(ListedUserColumn.tags), ofUser: user.id)
        self.pushedAt = try row.optionalDate(ListedUserColumn.pushedAt)
        self.fetchedAt = try row.optionalDate(ListedUserColumn.fetchedAt)
    }
}

/// The columns that lists of users select after those of `UserColumn`.
package enum ListedUserColumn: Int32, SelectedColumn {
    case createdAt = 6
    case password, tags, pushedAt, fetchedAt, requiresEncryption

    package static let selected = "\(UserColumn.list), \(Self.list)"

    package var sql: String {
        switch self {
        case .pushedAt:
            """
            (select max(x.accepted_at) from (
                select p.accepted_at from device d left join device_push p on p.device = d.number
                where d.user_id = u.id order by d.created_at desc, d.number desc limit \(UserEntry.countedForPush)) x)
            """
        case .fetchedAt: DeviceEntry.fetchedAt(ofUser: "u.id")
        default: "u.\(self.columnName)"
        }
    }
}

/// The outcome of a change to a user.
package enum UserChange: Sendable, Hashable {
    case done
    case missing
    /// The user is the only enabled administrator, so nobody could undo the change.
    case lastAdministrator
}
