internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension WriteTransaction {
    /// Locks the row of the user with this name against changes; `nil` if there is no such user.
    func lockAccount(_ name: Username) async throws -> StoredAccount? {
        try await self.account("\(PostgreSQLStore.accountNamed) for no key update", self.sealing.index.hash(name))
    }

    /// Locks the row of the user with this id against changes; `nil` if there is no such user.
    func lockAccount(_ id: Int64) async throws -> StoredAccount? {
        try await self.account("\(PostgreSQLStore.accountWithID) for no key update", id)
    }

    /// Locks the row of the user with this name before a change or a deletion. Also returns
    /// whether the user is the last enabled administrator.
    ///
    /// `isLosing`: after the change, the user will not be an enabled administrator. If the user is
    /// one now, the rows of all enabled administrators are locked. Otherwise two requests could
    /// remove the last two administrators at the same time.
    func lockAccount(
        _ name: Username,
        isLosing: Bool
    ) async throws -> (account: StoredAccount?, isLastAdministrator: Bool) {
        let (find, key) = (PostgreSQLStore.accountNamed, self.sealing.index.hash(name))
        var others: [Int64]?
        // Posts share the locks of the users whom they name. While such posts come without a
        // pause, the row is never free. Posts that begin now wait for the table.
        if self.isRepeat { _ = try await self.query("lock table account in exclusive mode") }
        if isLosing {
            guard let now = try await self.account(find, key) else { return (nil, false) }
            if now.isAdministrator { others = try await self.lockAdministrators() }
        }
        let locked = try await self.account("\(find) for update", key)
        guard isLosing, let account = locked, account.isAdministrator else { return (locked, false) }
        // The user may have become an administrator since this transaction chose its lock. Two
        // transactions that now lock all administrators may deadlock; one of them then runs again.
        if others == nil { others = try await self.lockAdministrators() }
        return (account, others?.contains { $0 != account.id } != true)
    }

    private func account(_ sql: String, _ key: any Bindable) async throws -> StoredAccount? {
        try await self.query(sql, key).first.map(StoredAccount.init)
    }

    private func lockAdministrators() async throws -> [Int64] {
        try await self.query(Self.administrators).map { try $0.integer() }
    }

    private static let administrators = """
        select id from account where role = 'admin' and disabled_at is null order by id for update
        """

    // MARK: Users

    func write(_ plan: AccountPlan, by record: AuditRecord?, now: Date) async throws {
        let (user, change) = (plan.user, plan.change)
        if let issued = change.issued?.account {
            _ = try await self.query(
                Self.setIssued,
                user,
                issued.owner,
                issued.issuedAt.milliseconds,
                issued.rights.role?.rawValue,
                issued.storedApps,
                issued.rights.scopes?.description
            )
        }
        if plan.isNews {
            _ = try await self.query(
                Self.changeUser,
                user,
                change.role?.rawValue,
                change.isDisabled,
                now.milliseconds,
                change.apps != nil,
                change.apps?.stored,
                change.password?.phc,
                change.requiresEncryption
            )
            self.end(.user(user))
        }
        if plan.endsSessions {
            let sessions = try await self.query(Self.endSessions, user).map { try $0.text() }
            if plan.retiresDevices { try await self.retireDevices(ofUser: user, with: sessions, by: record, now: now) }
        }
        if let apps = change.apps {
            let devices = try await self.query(Self.devicesWithHandle, user).map(EndingDevice.init)
            try await self.write(DeviceEnds(of: devices, outside: apps), ofUser: user, now: now)
        }
        if let record { self.append(record) }
    }

    private static let changeUser = """
        update account set role = coalesce($2, role),
            disabled_at = case when $3 then coalesce(disabled_at, $4) when not $3 then null else disabled_at end,
            apps = case when $5 then $6 else apps end,
            password = coalesce($7, password),
            password_number = password_number + case when $7 is null then 0 else 1 end,
            requires_encryption = coalesce($8, requires_encryption),
            version = version + 1
        where id = $1
        """
    private static let setIssued = """
        update account set issued_to = $2, issued_at = $3, issued_role = $4, issued_apps = $5, issued_scopes = $6
        where id = $1
        """
    static let endSessions = "delete from token where is_session and user_id = $1 returning prefix"

    private static let devicesWithHandle = """
        \(EndingDevice.select)
        where user_id = $1 and platform is not null order by number for update
        """

    // MARK: Tokens

    /// Inserts a session. If the user now has more sessions than allowed, ends the oldest
    /// sessions.
    func beginSession(_ row: TokenRow, by record: AuditRecord?) async throws -> NewSession {
        let token = try await self.insert(row, by: record)
        let most = NewSession.maximumCount - 1
        let ended = try await self.query(Self.oldestSessions, row.user, token.fingerprint.bytes, most)
        if ended.count > 0 { _ = try await self.query(Self.newVersion, row.user) }
        let fingerprints = try ended.compactMap { Fingerprint(bytes: try $0.data()) }
        for fingerprint in fingerprints { self.end(.token(fingerprint, user: row.user)) }
        return NewSession(token: token, ended: fingerprints)
    }

    static let oldestSessions = """
        delete from token where hash in (
            select hash from token where user_id = $1 and is_session and hash <> $2
            order by created_at desc, hash desc offset $3)
        returning hash
        """
    private static let newVersion = "update account set version = version + 1 where id = $1"

    /// Inserts a random token, or an enrolment code. Also adds an audit record that names the
    /// token.
    func insert(_ row: TokenRow, as code: Fingerprint? = nil, by record: AuditRecord?) async throws -> BearerToken {
        // There are 62^8 prefixes, so the same prefix hardly ever occurs twice. If it does, the
        // loop tries another prefix. An enrolment code also needs a prefix, although nobody sees
        // it.
        while true {
            let token = BearerToken.random()
            let hash = code ?? token.fingerprint
            let inserted = try await self.query(
                Self.insertToken,
                hash.bytes,
                token.prefix.description,
                row.user,
                row.isSession,
                row.token.isVouched,
                row.scopes,
                row.token.createdAt.milliseconds,
                row.token.expiresAt.milliseconds,
                self.sealing.rows.token(hash, user: row.user)
            )
            guard inserted.changed == 1 else { continue }
            if let record { self.append(record.about(token.prefix, in: self.audit)) }
            return token
        }
    }

    private static let insertToken = """
        insert into token (hash, prefix, user_id, is_session, is_vouched, scopes, created_at, expires_at, mac)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (prefix) do nothing
        """
}
