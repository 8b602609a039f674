package import Foundation
package import PushCore

/// Reads users and their passwords.
package protocol AccountReader: Sendable {
    /// The user of that name, compared without case.
    func user(named name: Username) async throws(StoreError) -> User?

    /// The hash of the user's password; `nil` if the password was changed, or the user deleted,
    /// meanwhile.
    func password(of user: User) async throws(StoreError) -> PasswordHash?

    /// The user at the token issuer who owns the account; `nil` if no issued token has signed in
    /// to the account yet.
    func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount?

    /// The password hash of the user that `number` selects; `nil` if there are no users. A number
    /// keeps selecting the same user until that user is changed or deleted.
    ///
    /// So the costs of the selected hashes are distributed over the numbers as over the users.
    /// When a user is added, only the numbers that now select this user change.
    func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash?

    /// Whether there is any user, also one whose row cannot be read.
    func hasUsers() async throws(StoreError) -> Bool

    /// Users in a fixed order that is not alphabetical; at most `limit` after `last`.
    func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry]

    /// The user of that name, with the properties that lists show.
    func userEntry(named name: Username) async throws(StoreError) -> UserEntry?

    /// The tags given to the user of that name, sorted; `nil` if there is no such user.
    func tags(ofUser name: Username) async throws(StoreError) -> [Tag]?
}

extension AccountReader {
    /// The user of that name, if the caller may know that the user exists. Every look-up of a user
    /// whom a caller names goes through here.
    package func user(named name: Username, visibleTo caller: User) async throws(StoreError) -> User? {
        guard let user = try await self.user(named: name), caller.maySee(user) else { return nil }
        return user
    }
}

/// Changes users and their passwords.
///
/// A change on behalf of a caller is recorded in the audit, in the same transaction.
package protocol AccountStore: Sendable {
    /// The lease under which this server trusts cached credentials; `nil` if no other server can
    /// end credentials.
    var lease: CredentialLease? { get }

    /// Adds a user of these apps; `false` if the name is taken.
    func addUser(
        _ name: Username,
        role: Role,
        apps: Set<AppName>,
        password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Changes a user's role, password or apps, disables or enables the user, or makes the user
    /// require end-to-end encryption from the next post on.
    ///
    /// A new password ends the user's sessions and retires the devices that were last registered
    /// with a session. In each app that the user leaves, the user's devices are retired and the
    /// user's claims to handles deleted. A higher role or another app also ends the sessions, but
    /// the devices stay registered.
    ///
    /// If the change contains another owner's token, or the account has accepted a newer token
    /// meanwhile, nothing changes and the answer is `.missing`.
    func changeUser(
        _ name: Username,
        _ change: AccountChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange

    /// Replaces the tags given to a user. Returns `false` if there is no such user, or if `rights`
    /// is not `nil` and differs from the user's rights.
    ///
    /// A tag counts for notifications that are stored afterwards. The record's detail becomes a
    /// text about the added and removed tags.
    func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool

    /// Deletes a user with all tokens and devices, and with its recipient rows of notifications.
    func deleteUser(_ name: Username, by record: AuditRecord?) async throws -> UserChange

    /// Stores a new hash of the same password, and ends no session; does nothing if `old` is no
    /// longer the stored hash.
    func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws
}

extension AccountStore {
    /// Adds a user of the default app.
    package func addUser(
        _ name: Username,
        role: Role,
        password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.addUser(name, role: role, apps: [.usual], password: password, by: record, now: now)
    }

    /// Adds a user without a record in the audit.
    package func addUser(_ name: Username, role: Role, password: PasswordHash, now: Date) async throws -> Bool {
        try await self.addUser(name, role: role, apps: [.usual], password: password, by: nil, now: now)
    }

    /// Replaces the tags given to a user, whatever its rights are.
    package func setTags(_ tags: Set<Tag>, ofUser name: Username, by record: AuditRecord?) async throws -> Bool {
        try await self.setTags(tags, ofUser: name, ifStill: nil, by: record)
    }

    /// Changes some properties of a user.
    package func changeUser(
        _ name: Username,
        role: Role? = nil,
        apps: Set<AppName>? = nil,
        password: PasswordHash? = nil,
        isDisabled: Bool? = nil,
        requiresEncryption: Bool? = nil,
        issued: IssuedToken? = nil,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> UserChange {
        let change = AccountChange(
            role: role,
            apps: apps,
            password: password,
            isDisabled: isDisabled,
            requiresEncryption: requiresEncryption,
            issued: issued
        )
        return try await self.changeUser(name, change, by: record, now: now)
    }

    /// Changes the password of a user who has presented the old one; `false` if the password was
    /// changed, or the user disabled or deleted, meanwhile.
    package func changePassword(
        of user: User,
        to password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        let change = AccountChange(password: password, presenter: user)
        return try await self.changeUser(user.name, change, by: record, now: now) == .done
    }
}
