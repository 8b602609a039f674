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
        try await self.query(Self.administrators).map { try $0.integer(0) }
    }

    private static let administrators = """
        select id from account where role = 'admin' and disabled_at is null order by id for update
        """
}
