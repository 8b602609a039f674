package import Foundation
package import PushCore

/// Reads users, their passwords and their tokens.
package protocol AccountReader: SharedReader {
    /// The user with this name, compared without regard to case.
    func user(named name: Username) async throws(StoreError) -> User?

    /// The user and the permissions of a token. `nil` if there is no such token, if it has
    /// expired, or if the user is disabled.
    func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)?
}

/// Changes users and their passwords.
///
/// If a caller has requested a change, the audit records it in the same transaction.
package protocol AccountStore: Sendable {
    /// Adds a user; `false` if the name is taken.
    func addUser(_ user: NewUser, by record: AuditRecord?, now: Date) async throws -> Bool

    /// Changes a user's role, password or apps, or disables or enables the user. It can also make
    /// the user require end-to-end encryption from the next post on.
    ///
    /// A new password ends the user's sessions, and retires the devices that were last registered
    /// with a session. In each app that the user leaves, the user's devices are retired, and
    /// handles that the user has claimed but not confirmed are released. A higher role or another
    /// app also ends the sessions, but the devices stay registered.
    ///
    /// If the change contains an issuer's token, but another of the issuer's users owns the
    /// account, nothing changes and the result is `.missing`. The result is also `.missing` if the
    /// account has meanwhile accepted a newer token.
    func changeUser(
        _ name: Username,
        _ change: AccountChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange

    /// Replaces the tags that were given to a user. Returns `false` if there is no such user, or
    /// if `rights` is not `nil` and the user now has other rights.
    ///
    /// A tag counts for notifications that are stored afterwards. The store completes `record`.
    func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool

    /// The maximum number of received notifications in one transaction of a user's deletion.
    static var deletionPage: Int { get }

    /// Deletes the oldest notifications that a user has received, at most `page` of them, and ends
    /// their pushes to the user's devices. Deletes the user as well if fewer than `page` remained;
    /// otherwise returns `nil`, and the caller must call again.
    func deleteUser(_ name: Username, page: Int, by record: AuditRecord?, now: Date) async throws -> UserChange?

    /// Replaces the password's hash by another hash of the same password. No session ends. Does
    /// nothing if the stored hash is no longer `old`.
    func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws
}

extension AccountStore {
    /// Deletes a user with all tokens, devices and received notifications. Each page of
    /// notifications is deleted in a transaction of its own, so that posts do not wait for all
    /// pages. If a transaction fails, the user stays, without the oldest notifications.
    package func deleteUser(_ name: Username, by record: AuditRecord?, now: Date) async throws -> UserChange {
        while true {
            let outcome = try await self.deleteUser(name, page: Self.deletionPage, by: record, now: now)
            if let outcome { return outcome }
        }
    }

    /// Changes the password of a user who has presented the old password; `false` if the password
    /// was changed, or the user disabled or deleted, meanwhile.
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

extension CredentialLease {
    /// Throws `unavailable` if the lease has expired since the term began.
    package func check(_ term: Term) throws(StoreError) {
        guard self.holds(term) else {
            throw .unavailable(reason: "the server was paused, or cut off from the database, during the request")
        }
    }
}
