internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The accounts that the released notifications name, and the present rights of their senders.
struct ReleaseRights {
    /// The rights of the senders, without those who were deleted or disabled.
    private var senders: [Int64: SenderRight] = [:]
    private var named: [Data: NamedUser] = [:]

    /// Reads the accounts of senders and named users, and locks them against deletion.
    init(_ tx: WriteTransaction, senders: [Int64], named keys: [Data]) async throws {
        for row in try await tx.query(Self.accounts, senders, keys).map({ $0 }) {
            let (id, key) = (try row.integer(0), try row.data(1))
            let apps = Set(storedApps: try row.optionalText(3))
            self.named[key] = NamedUser(id: id, apps: apps, requiresEncryption: try row.boolean(5))
            if try row.boolean(4) { self.senders[id] = SenderRight(role: try row.text(2), key: key, apps: apps) }
        }
    }

    static let accounts = """
        select id, name_key, role, apps, disabled_at is null, requires_encryption from account
        where id = any($1::int8[]) or name_key = any($2::bytea[]) order by id for key share
        """

    /// Whether a sender may now send to an audience.
    func allow(_ sender: Int64, _ audience: HashedAudience) -> Bool {
        self.senders[sender]?.covers(audience) ?? false
    }

    /// The ids of the users whom an audience names, in ascending order. Users who were deleted, or
    /// who lost the app, after the post are left out.
    func users(of audience: HashedAudience) -> [Int64] {
        Set(audience.users.compactMap { self.named[$0.key]?.id(in: audience.audience.app) }).sorted()
    }
}
