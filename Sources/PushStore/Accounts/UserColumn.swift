internal import Foundation
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

extension UserEntry: StoredEntity {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let user = try User(row, sealing) else { return nil }
        self.init(
            name: user.name,
            role: user.role,
            apps: user.apps,
            createdAt: try row.date(ListedUserColumn.createdAt),
            isDisabled: user.isDisabled,
            hasPassword: !PasswordHash(phc: try row.text(ListedUserColumn.password)).isNone,
            requiresEncryption: try row.flag(ListedUserColumn.requiresEncryption),
            tags: try sealing.tags(try row.optionalData(ListedUserColumn.tags), ofUser: user.id),
            pushedAt: try row.optionalDate(ListedUserColumn.pushedAt),
            fetchedAt: try row.optionalDate(ListedUserColumn.fetchedAt)
        )
    }
}
