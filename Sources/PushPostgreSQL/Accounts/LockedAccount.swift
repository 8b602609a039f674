internal import Foundation
internal import PostgreSQL
internal import PushStore

/// A user's row, locked for a change or a deletion.
struct LockedAccount {
    let id: Int64
    /// `nil` if only a later version knows the role.
    let rights: AccountRights?
    /// Whether no enabled administrator would be left without this one.
    let isLastAdministrator: Bool

    /// Locks the row of the user whose name has that hash; `nil` if there is no such user.
    ///
    /// `isLosing`: the user will not be an enabled administrator afterwards. If the user is one
    /// now, the lock covers the rows of all enabled administrators. Otherwise the last two could
    /// be removed at the same time.
    init?(_ tx: WriteTransaction, _ key: Data, isLosing: Bool) async throws {
        var others: [Int64]?
        if isLosing {
            guard let now = try await tx.query(Self.find, key).first else { return nil }
            if try now.boolean(2) { others = try await tx.query(Self.administrators).map { try $0.integer(0) } }
        }
        guard let row = try await tx.query("\(Self.find) for update", key).first else { return nil }
        let isAdministrator = try row.boolean(2)
        if isLosing, isAdministrator, others == nil {
            // The user has become an administrator since. Two such transactions may deadlock; one
            // of them is then retried.
            others = try await tx.query(Self.administrators).map { try $0.integer(0) }
        }
        let id = try row.integer(0)
        self.id = id
        self.rights = AccountRights(storedRole: try row.text(1), storedApps: try row.optionalText(3))
        self.isLastAdministrator = isLosing && isAdministrator && others?.contains { $0 != id } != true
    }

    static let find = "select id, role, role = 'admin' and disabled_at is null, apps from account where name_key = $1"
    static let administrators = """
        select id from account where role = 'admin' and disabled_at is null order by id for update
        """
}
