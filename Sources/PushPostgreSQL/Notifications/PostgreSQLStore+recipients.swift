internal import Foundation
internal import PostgreSQL
internal import PushStore

extension PostgreSQLStore {
    /// Makes users recipients of a notification, and gives each recipient the user's next change
    /// number. Returns the new recipients.
    ///
    /// Leaves out users who were deleted meanwhile: a deletion and this transaction both lock the
    /// user's account, so they run one after the other.
    static func insertRecipients(
        _ tx: WriteTransaction,
        users: [Int64],
        of target: PushTarget,
        now: Date
    ) async throws -> Set<Int64> {
        if users.isEmpty { return [] }
        let new = try await tx.query(Self.newRecipients, users, target.id, target.isForAll).map { try $0.integer(0) }
        if new.isEmpty { return [] }
        let numbers = try await tx.changes(ofUsers: new)
        let rows = try await tx.query(
            """
            with r as (
                insert into recipient (notification_id, user_id, change, changed_at, mac)
                select $1, t.user_id, t.change, $2, t.mac
                from unnest($3::int8[], $4::int8[], $5::int8[]) as t (user_id, change, mac)
                on conflict (notification_id, user_id) do nothing returning user_id),
            u as (
                insert into untaken (notification_id, user_id) select $1, r.user_id from r where $6
                on conflict (notification_id, user_id) do nothing)
            select user_id from r
            """,
            target.id,
            now.milliseconds,
            new,
            try new.map { try Self.number(of: $0, in: numbers) },
            new.map { tx.sealing.rows.recipient(of: target.id, user: $0) },
            target.isReadOnce
        )
        return Set(try rows.map { try $0.integer(0) })
    }

    /// Selects those users in `$1` who may get the payload of the notification `$2` and are not
    /// its recipients yet. Locks them against deletion, in the order of their ids.
    ///
    /// Each recipient is looked up by the whole key. With a join, the planner might read all
    /// recipients of a broadcast for each page.
    static let newRecipients = """
        select a.id from account a where a.id = any($1::int8[]) and ($3::boolean or not a.requires_encryption)
            and (select r.user_id from recipient r where r.notification_id = $2 and r.user_id = a.id) is null
        order by a.id for key share of a
        """

    /// The change number that was drawn for a user.
    static func number(of user: Int64, in numbers: [Int64: Int64]) throws -> Int64 {
        guard let number = numbers[user] else { throw StoreError.failed(reason: "user \(user) has no change number") }
        return number
    }
}
