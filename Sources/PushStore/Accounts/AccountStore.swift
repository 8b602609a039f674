package import Foundation
package import PushCore

/// Reads users and their passwords.
package protocol AccountReader: Sendable {
    /// The user of that name, compared without case.
    func user(named name: Username) async throws(StoreError) -> User?

    /// What the user's password is checked against; `nil` if it was changed, or the user deleted, meanwhile.
    func password(of user: User) async throws(StoreError) -> PasswordHash?

    /// The hash of some user, the same for the same number as long as that user stays as it is; `nil` without users.
    ///
    /// So what the hashes of all numbers cost is what those of all users cost, in the same proportions. When a user
    /// is added, its own share of the numbers changes hands, and no other.
    func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash?

    /// Users in one order, which is not the alphabet's; at most `limit` behind `last`.
    func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry]

    /// The user of that name as lists show it.
    func userEntry(named name: Username) async throws(StoreError) -> UserEntry?
}

/// Changes users and their passwords. What is done on behalf of a caller is recorded in the audit with it.
package protocol AccountStore: Sendable {
    /// Adds a user; `false` if there is one of that name.
    func addUser(
        _ name: Username,
        role: Role,
        password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Gives a user another role or another password, which ends the user's sessions, or disables or enables the user;
    /// `nil` leaves a thing as it is.
    func changeUser(
        _ name: Username,
        role: Role?,
        password: PasswordHash?,
        isDisabled: Bool?,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange

    /// Deletes a user with all tokens and devices, and with its part in the notifications that it received.
    func deleteUser(_ name: Username, by record: AuditRecord?) async throws -> UserChange

    /// Stores the same password hashed anew, and ends nothing; does nothing if `old` is no longer the stored hash.
    func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws

    /// Gives a user who has shown the old password another one, and ends the user's sessions; `false` if it was changed,
    /// or the user deleted, meanwhile.
    func changePassword(of user: User, to password: PasswordHash, by record: AuditRecord?) async throws -> Bool
}

extension AccountStore {
    /// Adds a user without a record in the audit.
    package func addUser(_ name: Username, role: Role, password: PasswordHash, now: Date) async throws -> Bool {
        try await self.addUser(name, role: role, password: password, by: nil, now: now)
    }

    /// Changes one thing of a user.
    package func changeUser(
        _ name: Username,
        role: Role,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> UserChange {
        try await self.changeUser(name, role: role, password: nil, isDisabled: nil, by: record, now: now)
    }

    /// Changes one thing of a user.
    package func changeUser(
        _ name: Username,
        password: PasswordHash,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> UserChange {
        try await self.changeUser(name, role: nil, password: password, isDisabled: nil, by: record, now: now)
    }

    /// Changes one thing of a user.
    package func changeUser(
        _ name: Username,
        isDisabled: Bool,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> UserChange {
        try await self.changeUser(name, role: nil, password: nil, isDisabled: isDisabled, by: record, now: now)
    }
}
