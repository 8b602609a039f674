package import Foundation
package import PushCore

/// The columns of a user's row that a store reads before it changes the user.
package struct StoredAccount: Sendable, Hashable {
    package let id: Int64
    /// The user's rights; `nil` if only a later version knows the stored role.
    package let rights: AccountRights?
    let passwordNumber: Int64
    let isDisabled: Bool
    /// The tags that were given to the user, encrypted.
    package let tags: Data?
    /// The owner at a token issuer; `nil` if there is no owner yet.
    package let issued: IssuedAccount?

    package enum Column: Int32, SelectedColumn {
        case id, role, apps, passwordNumber, isDisabled, tags, issuedTo, issuedAt, issuedRole, issuedApps, issuedScopes

        package var sql: String { self == .isDisabled ? "disabled_at is not null" : self.columnName }
    }
}

extension StoredAccount: StoredEntity {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.id = try row.integer(Column.id)
        let apps = Set(storedApps: try row.optionalText(Column.apps))
        self.rights = Role(rawValue: try row.text(Column.role)).map { AccountRights(role: $0, apps: apps) }
        self.passwordNumber = try row.integer(Column.passwordNumber)
        self.isDisabled = try row.flag(Column.isDisabled)
        self.tags = try row.optionalData(Column.tags)
        self.issued = try IssuedAccount(row)
    }

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws { try self.init(row) }

    /// Whether the user is an enabled administrator.
    package var isAdministrator: Bool { self.rights?.role == .admin && !self.isDisabled }

    /// Whether a user who has signed in may begin a session: since the sign-in, the password was
    /// not changed, and the user was not disabled.
    package func admits(_ user: User) -> Bool { !self.isDisabled && self.passwordNumber == user.passwordNumber }

    /// Whether an enrolment code may be stored for a user who has signed in. The user's rights
    /// must be those of the sign-in, because the code's session gets these rights.
    package func admitsCode(for user: User) -> Bool { self.admits(user) && self.rights == user.rights }

    /// The tags that were given to the user, decrypted and sorted.
    package func openTags(_ sealing: Sealing) throws -> [Tag] { try sealing.tags(self.tags, ofUser: self.id) }
}

extension IssuedAccount {
    /// Reads the columns of an account; `nil` if no issuer's user owns it yet.
    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        typealias Column = StoredAccount.Column
        guard let owner = try row.optionalData(Column.issuedTo), let issuedAt = try row.optionalDate(Column.issuedAt)
        else { return nil }
        let rights = IssuedRights(
            role: try row.optionalText(Column.issuedRole).flatMap(Role.init(rawValue:)),
            apps: try row.optionalText(Column.issuedApps).map { Set(names: $0) },
            scopes: try row.optionalText(Column.issuedScopes).map { Scopes($0) }
        )
        self.init(owner: owner, issuedAt: issuedAt, rights: rights)
    }

    /// The value of the column with the token's apps. It also names the default app, because null
    /// means that the token does not set the apps.
    package var storedApps: String? { self.rights.apps?.names }
}

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
