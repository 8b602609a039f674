package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func addUser(_ user: NewUser, by record: AuditRecord?, now: Date) async throws -> Bool {
        try await self.write { [sealing] tx in
            let inserted = try await tx.query(
                Self.insertUser,
                sealing.index.hash(user.name),
                user.role.rawValue,
                user.apps.stored,
                user.password.phc,
                now.milliseconds,
                user.requiresEncryption
            )
            guard let id = try inserted.first?.integer() else { return false }
            _ = try await tx.query(Self.nameUser, id, try sealing.seal(user.name.description, in: .username(id)))
            if let record { tx.append(record) }
            return true
        }
    }

    /// Inserts a user with an empty name: the encryption of the name is bound to the id, which
    /// only the insert assigns. Because of the condition, an insert with a taken name uses up no
    /// id.
    private static let insertUser = """
        insert into account (name, name_key, role, apps, password, created_at, requires_encryption)
        select ''::bytea, $1, $2, $3, $4, $5, $6 where not exists (select 1 from account where name_key = $1)
        on conflict (name_key) do nothing returning id
        """

    /// Stores the name. Also creates the user's counter of changes, because `makeDue` locks that
    /// row.
    private static let nameUser = """
        with counter as (insert into user_change (user_id, change) values ($1, 0))
        update account set name = $2 where id = $1
        """

    package func changeUser(
        _ name: Username,
        _ change: AccountChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange {
        try await self.write { tx in
            let (account, isLast) = try await tx.lockAccount(name, isLosing: change.isLosing)
            let (outcome, plan) = change.decide(account, isLastAdministrator: isLast)
            if let plan { try await tx.write(plan, by: record, now: now) }
            return outcome
        }
    }

    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.write { tx in
            _ = try await tx.query(Self.rehash, new.phc, user.id, old.phc)
        }
    }

    private static let rehash = "update account set password = $1 where id = $2 and password = $3"

    package func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write { [sealing] tx in
            let account = try await tx.lockAccount(name)
            guard let plan = try UserTagPlan(tags, of: account, ifStill: rights, by: record, sealing) else {
                return false
            }
            _ = try await tx.query("update account set tags = $2 where id = $1", plan.user, plan.sealed)
            _ = try await tx.query(Self.otherTags, plan.user, plan.keys)
            if !plan.keys.isEmpty { _ = try await tx.query(Self.addTags, plan.user, plan.keys) }
            if let record = plan.record { tx.append(record) }
            return true
        }
    }

    private static let otherTags = "delete from user_tag where user_id = $1 and tag <> all($2::bytea[])"
    private static let addTags = """
        insert into user_tag (user_id, tag) select $1, tag from pg_catalog.unnest($2::bytea[]) as t (tag) on conflict do nothing
        """

    /// The number of pushes that one statement deletes or changes. A statement has a time limit,
    /// which 10,000 pushes exceeded on a busy machine. In smaller pages, each would read the index
    /// entries of more pages that were deleted before.
    package static let deletionPage = 2_000

    package func deleteUser(
        _ name: Username,
        page: Int,
        by record: AuditRecord?,
        now: Date
    ) async throws -> UserChange? {
        try await self.write { tx in
            let (account, isLast) = try await tx.lockAccount(name, isLosing: true)
            let outcome = AccountChange.deletion(of: account, isLastAdministrator: isLast)
            guard outcome == .done, let id = account?.id else { return outcome }
            // A post that makes the user a recipient locks the user's counter of changes. This
            // statement waits for the end of such a post, so that the deletion sees the post's
            // rows.
            _ = try await tx.query("select change from user_change where user_id = $1 for update", id)
            let devices = try await tx.query(Self.devicesOfUser, id).map { try $0.integer() }
            let ended = try await tx.endPushes(ofDevices: devices, atMost: page, now: now)
            let untaken = try await tx.query(Self.untakenByUser, id, page).map { try $0.integer() }
            let count = try await tx.query(Self.receivedByUser, id, page).count
            try await tx.eraseIfTaken(untaken)
            guard max(ended, count) < page else { return nil }
            try await tx.delete(devices: devices)
            _ = try await tx.query(Self.rowsOfUser, id)
            tx.end(.user(id))
            if let record { tx.append(record) }
            return outcome
        }
    }

    private static let devicesOfUser = "select number from device where user_id = $1 order by number for update"

    /// The oldest of the user's received notifications.
    private static let oldestReceived = """
        with part as materialized (
            select notification_id, change from recipient where user_id = $1 order by change limit $2)
        """

    /// Selects the read-once notifications among them whose payload this user has not yet
    /// collected.
    private static let untakenByUser = """
        \(oldestReceived)
        select u.notification_id from part p join untaken u on u.notification_id = p.notification_id and u.user_id = $1
        """

    private static let receivedByUser = """
        \(oldestReceived), missed as (
            delete from untaken u using part p where u.notification_id = p.notification_id and u.user_id = $1)
        delete from recipient where user_id = $1 and change <= (select max(change) from part) returning 1
        """

    private static let rowsOfUser = """
        with tokens as (delete from token where user_id = $1),
        tags as (delete from user_tag where user_id = $1),
        confirmations as (delete from confirmation where user_id = $1),
        bounds as (delete from usage where user_id = $1),
        counter as (delete from user_change where user_id = $1)
        delete from account where id = $1
        """

    // MARK: Reading

    package func user(named name: Username) async throws(StoreError) -> User? {
        try await self.read(Self.userNamed, self.sealing.index.hash(name)) { rows in
            try rows.first.flatMap { try User($0, named: name, self.sealing) }
        }
    }

    static let userNamed = "select \(UserColumn.list) from account u where name_key = $1"

    package static let accountWithID = "select \(StoredAccount.Column.list) from account where id = $1"
    package static let accountNamed = "select \(StoredAccount.Column.list) from account where name_key = $1"
    package static let anyUser = "select 1 from account limit 1"
    package static let usersAfter = "\(entries) where name_key > $1 order by name_key limit $2"
    package static let entryNamed = "\(entries) where name_key = $1"
    private static let entries = "select \(ListedUserColumn.selected) from account u"

    package static let passwordOf = "select password from account where id = $1 and password_number = $2"
    package static let lastUser = "select max(id) from account"

    /// Selects the password of the first user with the id `$1` or a higher id. If all these users
    /// were deleted meanwhile, selects the password of the last user.
    package static let passwordFrom = """
        select coalesce(
            (select password from account where id >= $1 order by id limit 1),
            (select password from account order by id desc limit 1))
        """

    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)? {
        try await self.read(Self.tokenInUse, fingerprint.bytes, now.milliseconds) { rows in
            try rows.first.map { try TokenGrant.used($0, fingerprint, self.sealing) }
        }
    }

    static let tokenInUse = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.expires_at > $2 and u.disabled_at is null
        """

    package static let codeInUse = """
        select u.id from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.\(Enrolment.isCode) and t.expires_at > $2 and u.disabled_at is null
        """

    private static let tokenEntries = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.expires_at > $1 and t.prefix > $2 and not t.\(Enrolment.isCode)
        """
    package static let allTokens = "\(tokenEntries) order by t.prefix limit $3"
    package static let tokensOfOne = "\(tokenEntries) and u.name_key = $4 order by t.prefix limit $3"
}
