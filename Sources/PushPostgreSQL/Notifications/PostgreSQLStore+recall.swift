package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

/// A recall erases the payload for all recipients at once. It then marks their rows page by page,
/// each with a change number of its own.
///
/// The store in SQLite gives all recipients one number. Here, a row of `recall` stands for the
/// recipients without a new number. Until they are marked, they can fetch nothing, and see the
/// notification as gone at its former place in the order of changes.
extension PostgreSQLStore {
    /// The most recipients who are marked in the transaction of the recall.
    static let recallPage = 500
    /// The recipients who are marked in each later transaction.
    private static let recallStep = 250

    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool {
        let page = page ?? Self.recallPage
        let step = try await self.write { tx in
            let step = try await Self.recall(tx, id.rawValue, by: recaller, page: page, now: now)
            if step != .refused, let record { tx.append(record) }
            return step
        }
        if step == .begun {
            _ = try await self.write { tx in try await Self.continueRecalls(tx, page: Self.recallStep) }
        }
        return step != .refused
    }

    package func cancelRecalled(
        _ id: NotificationID,
        after device: Int64,
        page: Int?,
        now: Date
    ) async throws -> Int64? {
        let page = page ?? AudienceWalk.page
        _ = try await self.write { tx in try await Self.continueRecalls(tx, page: Self.recallStep) }
        return try await self.write { tx in
            let devices = try await tx.query(
                Self.pushes,
                id.rawValue,
                device,
                page
            ).map { try $0.integer(0) }
            let pushes = devices.map { DuePush(notification: id.rawValue, device: $0) }
            try await Self.cancel(tx, pushes, reason: PushReason.recalled, now: now)
            return devices.count < page ? nil : devices.last
        }
    }

    /// Marks the next recipients of a recalled notification, at most `page`; `false` if all are
    /// marked.
    ///
    /// Locks the counters of these users: if the transaction has locked other counters before, it
    /// may deadlock and be retried.
    static func continueRecalls(_ tx: WriteTransaction, page: Int) async throws -> Bool {
        let row = try await tx.query(
            """
            select l.notification_id, l.user_id, n.recalled_at from recall l
            left join notification n on n.id = l.notification_id
            order by l.notification_id limit 1 for update of l skip locked
            """
        ).first
        guard let row else { return false }
        let (id, last) = (try row.integer(0), try row.integer(1))
        var users: [Int64] = []
        if let recalledAt = try row.optionalInteger(2) {
            users = try await tx.query(
                """
                select user_id from recipient
                where \(Self.byNotification.rows(of: "$1", after: "$2")) and dismissed_at is null
                order by \(Self.byNotification.order) limit $3
                """,
                id,
                last,
                page
            ).map { try $0.integer(0) }
            let numbers = try await tx.changes(ofUsers: users)
            try await Self.setRecallChanges(tx, users, numbers, ofRecall: id, at: recalledAt)
        }
        if let lastUser = users.last, users.count == page {
            _ = try await tx.query("update recall set user_id = $2 where notification_id = $1", id, lastUser)
        } else {
            _ = try await tx.query("delete from recall where notification_id = $1", id)
        }
        return true
    }

    // MARK: - Private

    private enum RecallStep: Sendable {
        case refused
        /// Some recipients are not marked yet.
        case begun
        case complete
    }

    private static func recall(
        _ tx: WriteTransaction,
        _ id: Int64,
        by recaller: Recaller,
        page: Int,
        now: Date
    ) async throws -> RecallStep {
        // This statement waits for a running fan-out or release of the notification. So it
        // includes the recipients that the fan-out or release adds.
        let place = try await tx.query(
            """
            with f as (select 1 from fanout where notification_id = $1 for update),
            s as (select 1 from scheduled where notification_id = $1 for update)
            select n.sender_id, (select count(*) from s) > 0, (select count(*) from f) from notification n where n.id = $1
            """,
            id
        ).first.map { (sender: try $0.integer(0), isScheduled: try $0.boolean(1)) }
        guard let place, recaller.mayRecall(ofSender: place.sender, isScheduled: place.isScheduled) else {
            return .refused
        }
        // Recipients who have dismissed the notification are left out: for them it is already
        // gone.
        let found = try await tx.query(
            """
            select r.user_id from notification n
            left join lateral (
                select user_id from recipient
                where \(Self.byNotification.rows(of: "$1", after: "0")) and dismissed_at is null
                order by \(Self.byNotification.order) limit $3) as r on true
            where \(Self.recallable) order by r.user_id
            """,
            id,
            now.milliseconds,
            page + 1
        ).map { try $0.optionalInteger(0) }
        if found.isEmpty { return .refused }
        let recipients = found.compactMap(\.self)
        let users = Array(recipients.prefix(page))
        let numbers = try await tx.changes(ofUsers: users)
        let erased = try await tx.query(
            """
            with n as (
                select n.id, length(n.payload)::int8 as bytes from notification n
                where \(Self.recallable) for no key update)
            update notification m set payload = null, alert = null, recalled_at = $2 from n where m.id = n.id
            returning n.bytes
            """,
            id,
            now.milliseconds
        ).first
        guard let erased else { return .refused }
        try await Self.setRecallChanges(tx, users, numbers, ofRecall: id, at: now.milliseconds)
        let isComplete = recipients.count <= page
        _ = try await tx.query(
            """
            with f as (delete from fanout where notification_id = $1),
            s as (delete from scheduled where notification_id = $1)
            insert into recall (notification_id, user_id) select $1, $2 where $3
            """,
            id,
            users.last ?? 0,
            !isComplete
        )
        let usage = Usage(notifications: 0, bytes: try erased.optionalInteger(0) ?? 0)
        try await Self.subtract(tx, [place.sender: usage])
        return isComplete ? .complete : .begun
    }

    /// The recipients of a notification, in the order of the users.
    private static let byNotification = PairIndex(first: "notification_id", second: "user_id")

    /// The pushes of the notification `$1` after the device `$2`, at most `$3`.
    private static let pushes = """
        select device from push where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3
        """

    /// Whether the notification `n` can be recalled: `$1` is its id, and `$2` the time.
    private static let recallable = """
        n.id = $1 and n.expires_at > $2 and n.recalled_at is null and n.payload is not null
        """

    /// Assigns recipients the numbers that were drawn for them.
    private static func setRecallChanges(
        _ tx: WriteTransaction,
        _ users: [Int64],
        _ numbers: [Int64: Int64],
        ofRecall id: Int64,
        at time: Int64
    ) async throws {
        if users.isEmpty { return }
        _ = try await tx.query(
            """
            with l as (
                select t.* from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, change)
                \(RecipientKey.lookup.join(
                    "1", of: "recipient", as: "r", with: "t", condition: "and dismissed_at is null", lock: "for no key update"
                )))
            update recipient r set change = l.change, changed_at = $4 from l where \(RecipientKey.lookup.equality("r", "l"))
            """,
            users.map { _ in id },
            users,
            try users.map { try Self.number(of: $0, in: numbers) },
            time
        )
    }
}
