internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func deleteUser(_ name: Username, by record: AuditRecord?) async throws -> UserChange {
        try await self.write { tx in
            let (account, isLast) = try await Self.lockAccount(name, isLosing: true, tx)
            let outcome = AccountChange.deletion(of: account, isLastAdministrator: isLast)
            guard outcome == .done, let id = account?.id else { return outcome }
            try await Self.deleteUser(tx, id)
            tx.end(.user(id))
            if let record { tx.append(record) }
            return outcome
        }
    }

    /// Deletes a user and all the user's rows. The caller has already locked the user's row.
    private static func deleteUser(_ tx: WriteTransaction, _ user: Int64) async throws {
        // A post that makes the user a recipient locks the user's counter of changes. This
        // statement waits for the end of such a post, so that the deletion sees the post's rows.
        _ = try await tx.query(Self.lockCounter, user)
        let devices = try await tx.query(Self.devicesOfUser, user).map { try $0.integer(0) }
        try await Self.delete(tx, devices: devices)
        let untaken = try await tx.query(Self.untakenByUser, user).map { try $0.integer(0) }
        _ = try await tx.query(Self.rowsOfUser, user)
        try await Self.eraseIfTaken(tx, untaken)
    }

    private static let lockCounter = "select change from user_change where user_id = $1 for update"
    private static let devicesOfUser = "select number from device where user_id = $1 order by number for update"

    /// Selects the read-once notifications whose payload this user has not yet collected.
    static let untakenByUser = """
        select u.notification_id from recipient r
        join untaken u on u.notification_id = r.notification_id and u.user_id = r.user_id
        where r.user_id = $1
        """

    static let rowsOfUser = """
        with tokens as (delete from token where user_id = $1),
        tags as (delete from user_tag where user_id = $1),
        confirmations as (delete from confirmation where user_id = $1),
        bounds as (delete from usage where user_id = $1),
        missed as (
            delete from untaken u using recipient r
            where r.user_id = $1 and u.notification_id = r.notification_id and u.user_id = $1),
        received as (delete from recipient where user_id = $1),
        counter as (delete from user_change where user_id = $1)
        delete from account where id = $1
        """
}
