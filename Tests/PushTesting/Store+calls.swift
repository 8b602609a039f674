package import Foundation
package import PushCore
package import PushStore

// Shorter forms of the stores' methods for tests: they write no audit record, or omit arguments
// such as an expected state or a budget of bytes.

extension StorePlace {
    /// Opens the store with the default options.
    package func open(_ keyring: Keyring) throws(StoreError) -> any Store {
        try self.open(keyring, StoreOptions())
    }
}

extension KeyStore {
    /// Replaces the keyring at the command of the operator.
    package func replaceKeyring(_ keyring: Keyring, now: Date) async throws -> Bool {
        try await self.replaceKeyring(keyring, by: .commandLine, now: now)
    }

    /// Re-encrypts all values that are not encrypted with the keyring's first key.
    package func rewrap(page: Int? = nil) async throws -> RewrapResult? {
        try await self.rewrap(page: page) { _ in }
    }
}

extension AccountStore {
    /// Adds a user who does not require end-to-end encryption.
    package func addUser(
        _ name: Username,
        role: Role,
        apps: Set<AppName> = [.usual],
        password: PasswordHash,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.addUser(NewUser(name, role: role, apps: apps, password: password), by: record, now: now)
    }

    /// Replaces the tags that were given to a user, whatever rights the user has.
    package func setTags(_ tags: Set<Tag>, ofUser name: Username, by record: AuditRecord?) async throws -> Bool {
        try await self.setTags(tags, ofUser: name, ifStill: nil, by: record)
    }

    /// Changes the given properties of a user.
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
        var change = AccountChange.nothing
        (change.role, change.apps, change.password) = (role, apps, password)
        (change.isDisabled, change.requiresEncryption, change.issued) = (isDisabled, requiresEncryption, issued)
        return try await self.changeUser(name, change, by: record, now: now)
    }

    /// Deletes a user now.
    package func deleteUser(_ name: Username, by record: AuditRecord? = nil) async throws -> UserChange {
        try await self.deleteUser(name, by: record, now: Date())
    }

    /// Changes a password, and writes no record to the audit.
    package func changePassword(of user: User, to password: PasswordHash) async throws -> Bool {
        try await self.changePassword(of: user, to: password, by: nil, now: Date())
    }
}

extension TokenStore {
    /// Makes a token.
    package func addToken(
        for name: Username,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> BearerToken? {
        try await self.addToken(for: name, NewToken(scopes, now: now, expiresAt: expiresAt), by: record)
    }

    /// Makes a session.
    package func addSession(
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        isVouched: Bool = false,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> NewSession? {
        let token = NewToken(scopes, isVouched: isVouched, now: now, expiresAt: expiresAt)
        return try await self.addSession(for: user, token, by: record)
    }

    /// Stores a code for a session.
    package func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.addEnrolment(code, for: user, NewToken(scopes, now: now, expiresAt: expiresAt), by: record)
    }

    /// Ends a token, and writes no record to the audit.
    package func revokeToken(_ prefix: TokenPrefix) async throws -> Fingerprint? {
        try await self.revokeToken(prefix, by: nil, now: Date())
    }
}

extension OutboxStore {
    /// Expands the oldest running broadcast by one page, whose size the store chooses.
    package func expandFanout(now: Date) async throws -> Int? {
        try await self.expandFanout(page: nil, now: now)
    }

    /// Sends scheduled notifications that are due, as many as the store takes at a time.
    package func releaseScheduled(now: Date) async throws -> Release {
        try await self.releaseScheduled(limit: nil, now: now)
    }
}

extension DeviceStore {
    /// Returns the user's registration id for that handle, or issues a new one.
    package func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        now: Date
    ) async throws -> RegistrationID {
        try await self.requestRegistration(ofUser: user, handle: handle, as: .random(), now: now)
    }

    /// Removes a registration, and writes no record to the audit.
    package func unregister(_ id: RegistrationID, ofUser user: Int64) async throws -> Bool {
        try await self.unregister(id, ofUser: user, by: nil)
    }
}

extension PostStore {
    /// Stores a notification.
    package func post(
        _ notification: NewNotification,
        within bounds: StorageBounds? = nil,
        page: Int? = nil
    ) async throws -> PostOutcome {
        let outcomes = try await self.post(PostRequest([notification], within: bounds, page: page))
        guard let outcome = outcomes.first else { throw StoreError.failed(reason: "a post has no outcome") }
        return outcome
    }
}

extension PostOutcome {
    /// The outcome of a stored post with a single recipient, as in most tests.
    package static func stored(pushes: Int, hasWork: Bool = true) -> PostOutcome {
        .stored(Reach(recipients: 1, pushes: pushes), hasWork: hasWork)
    }
}

extension NotificationReader {
    /// Returns a notification, if the user may see it.
    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) async throws(StoreError) -> StoredNotification? {
        try await self.notification(NotificationFetch(id, for: user, alsoAsSender: alsoAsSender, now: now))
    }

    /// Returns a page of changes, with an unlimited budget of bytes.
    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        try await self.notifications(range, for: user, now: now, within: .unlimited, needsPayloads: needsPayloads)
    }

    /// Returns a page of notifications, with an unlimited budget of bytes.
    package func notifications(
        _ ids: [NotificationID],
        for user: Int64,
        now: Date,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        try await self.notifications(
            ids,
            of: .usual,
            for: user,
            now: now,
            within: .unlimited,
            needsPayloads: needsPayloads
        )
    }
}

extension NotificationStore {
    /// Records a recipient's fetch of a payload.
    package func recordFetch(of id: NotificationID, by user: Int64, now: Date) {
        self.recordFetches(of: [id], by: user, now: now)
    }

    /// Marks a notification as read or unread for a recipient, whatever the notification's state
    /// is.
    package func mark(_ id: NotificationID, as mark: ReadMark, by user: Int64, now: Date) async throws -> MarkOutcome {
        try await self.mark(id, as: mark, by: user, ifStill: nil, now: now)
    }

    /// Recalls a notification, with the store's default size of a page.
    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.recall(id, by: recaller, recording: record, page: nil, now: now)
    }

    /// Cancels one page of the pushes of a recalled notification, with the store's default size of
    /// a page.
    package func cancelRecalled(_ id: NotificationID, after device: Int64, now: Date) async throws -> Int64? {
        try await self.cancelRecalled(id, after: device, page: nil, now: now)
    }

    /// Dismisses a notification, whether or not it is marked as read. Writes no record to the
    /// audit.
    package func dismiss(_ id: NotificationID, by user: Int64, now: Date) async throws -> Bool {
        try await self.dismiss(id, by: user, ifStill: nil, recording: nil, now: now)
    }

    /// Leases a read-once payload and takes it immediately. Returns `false` if the payload was
    /// fetched before, or does not exist.
    package func take(_ id: NotificationID, by user: Int64, now: Date) async throws -> Bool {
        let end = now + PayloadLease.length.timeInterval
        guard try await self.lease(id, to: user, until: end, recording: nil, now: now) == .granted else { return false }
        return try await self.take(id, by: user, recording: nil, now: now) == .taken
    }
}
