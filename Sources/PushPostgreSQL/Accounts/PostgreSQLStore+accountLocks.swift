internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Locks the row of the user with this name against changes; `nil` if there is no such user.
    static func lockAccount(_ name: Username, _ tx: WriteTransaction) async throws -> StoredAccount? {
        let key = tx.sealing.index.hash(name)
        return try await tx.query("\(PostgreSQLReader.accountNamed) for no key update", key).first.map(
            StoredAccount.init
        )
    }

    /// Locks the row of the user with this id against changes; `nil` if there is no such user.
    static func lockAccount(_ id: Int64, _ tx: WriteTransaction) async throws -> StoredAccount? {
        try await tx.query("\(PostgreSQLReader.accountWithID) for no key update", id).first.map(StoredAccount.init)
    }

    /// Locks the row of the user with this name before a change or a deletion. Also returns
    /// whether the user is the last enabled administrator.
    ///
    /// `isLosing`: after the change, the user will not be an enabled administrator. If the user is
    /// one now, the rows of all enabled administrators are locked. Otherwise two requests could
    /// remove the last two administrators at the same time.
    static func lockAccount(
        _ name: Username,
        isLosing: Bool,
        _ tx: WriteTransaction
    ) async throws -> (account: StoredAccount?, isLastAdministrator: Bool) {
        let (find, key) = (PostgreSQLReader.accountNamed, tx.sealing.index.hash(name))
        var others: [Int64]?
        // Posts share the locks of the users whom they name. While such posts come without a
        // pause, the row is never free. Posts that begin now wait for the table.
        if tx.isRepeat { _ = try await tx.query("lock table account in exclusive mode") }
        if isLosing {
            guard let now = try await tx.query(find, key).first.map(StoredAccount.init) else { return (nil, false) }
            if now.isAdministrator { others = try await Self.lockAdministrators(tx) }
        }
        let locked = try await tx.query("\(find) for update", key).first.map(StoredAccount.init)
        guard isLosing, let account = locked, account.isAdministrator else { return (locked, false) }
        // The user may have become an administrator since this transaction chose its lock. Two
        // transactions that now lock all administrators may deadlock; one of them then runs again.
        if others == nil { others = try await Self.lockAdministrators(tx) }
        return (account, others?.contains { $0 != account.id } != true)
    }

    private static func lockAdministrators(_ tx: WriteTransaction) async throws -> [Int64] {
        try await tx.query(Self.administrators).map { try $0.integer(0) }
    }

    private static let administrators = """
        select id from account where role = 'admin' and disabled_at is null order by id for update
        """
}
