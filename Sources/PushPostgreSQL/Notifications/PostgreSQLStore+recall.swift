package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

/// A recall erases a notification's payload for all recipients at once. It then marks the
/// recipients' rows page by page, and each recipient gets a change number of its own.
///
/// In SQLite, by contrast, all recipients get the same number in one transaction. Here, a row of
/// the table `recall` stands for the recipients who are not marked yet. They can no longer fetch
/// the payload. In their order of changes, the notification stays at its old place, but appears as
/// gone.
extension PostgreSQLStore {
    /// The maximum number of recipients whom the first transaction of a recall marks.
    static let recallPage = 500
    /// The maximum number of recipients whom each later transaction marks.
    private static let recallStep = 250

    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool {
        let page = page ?? Self.recallPage
        let apps = self.appsWithLooks
        let step = try await self.write { tx in
            let step = try await tx.recall(id.rawValue, by: recaller, page: page, lookingIn: apps, now: now)
            if step != .refused, let record { tx.append(record) }
            return step
        }
        if step == .begun { try await self.continueRecalls() }
        return step != .refused
    }

    package func cancelRecalled(
        _ id: NotificationID,
        after device: Int64,
        page: Int?,
        now: Date
    ) async throws -> Int64? {
        let page = page ?? AudienceWalk.page
        try await self.continueRecalls()
        return try await self.write { tx in
            let devices = try await tx.query(Self.pushes, id.rawValue, device, page).map { try $0.integer() }
            let pushes = devices.map { DuePush(notification: id.rawValue, device: $0) }
            try await tx.cancel(pushes, reason: PushReason.recalled, now: now)
            return devices.count < page ? nil : devices.last
        }
    }

    /// Continues a recall in a transaction of its own.
    @discardableResult
    func continueRecalls() async throws -> Bool {
        try await self.write { tx in try await Self.continueRecalls(tx, page: Self.recallStep) }
    }

    /// Marks the next recipients of a recalled notification, at most `page`. Returns `false` if it
    /// finds no recall to continue.
    ///
    /// The transaction locks these users' counters of changes. If it has locked other counters
    /// before, it may deadlock with another transaction, and then run again.
    static func continueRecalls(_ tx: WriteTransaction, page: Int) async throws -> Bool {
        guard let row = try await tx.query(Self.oldestRecall).first else { return false }
        let (id, last) = (try row.integer("notification_id"), try row.integer("user_id"))
        var users: [Int64] = []
        if let recalledAt = try row.optionalInteger("recalled_at") {
            users = try await tx.query(Self.nextRecipients, id, last, page).map { try $0.integer() }
            let numbers = try await tx.changes(ofUsers: users)
            try await tx.setRecallChanges(users, numbers, ofRecall: id, at: recalledAt)
        }
        if let lastUser = users.last, users.count == page {
            _ = try await tx.query("update recall set user_id = $2 where notification_id = $1", id, lastUser)
        } else {
            _ = try await tx.query("delete from recall where notification_id = $1", id)
        }
        return true
    }

    // MARK: - Private

    private static let oldestRecall = """
        select l.notification_id, l.user_id, n.recalled_at from recall l
        left join notification n on n.id = l.notification_id
        order by l.notification_id limit 1 for update of l skip locked
        """

    private static let nextRecipients = """
        select user_id from recipient
        where \(RecipientKey.byNotification.rows(of: "$1", after: "$2")) and dismissed_at is null
        order by \(RecipientKey.byNotification.order) limit $3
        """

    /// Selects at most `$3` pushes of the notification `$1`, to devices after `$2`.
    private static let pushes = """
        select device from push where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3
        """
}

extension WriteTransaction {
    fileprivate enum RecallStep: Sendable {
        case refused
        /// Some recipients are not marked yet.
        case begun
        case complete
    }

    /// `apps` are the apps whose devices get looks: pushes that tell a device to sync.
    fileprivate func recall(
        _ id: Int64,
        by recaller: Recaller,
        page: Int,
        lookingIn apps: Set<AppName>,
        now: Date
    ) async throws -> RecallStep {
        // This statement waits for a running fan-out or release of the notification. So the recall
        // also covers the recipients whom the fan-out or the release has added.
        guard let row = try await self.query(Self.lockWork, id).first else { return .refused }
        let (sender, app) = (try row.integer("sender_id"), AppName(stored: try row.optionalText("app")))
        guard recaller.mayRecall(ofSender: sender, isScheduled: try row.flag("is_scheduled")) else { return .refused }
        // A recipient who has dismissed the notification is not marked: for this recipient the
        // notification is already gone.
        let rows = try await self.query(Self.firstRecipients, id, now.milliseconds, page + 1)
        let found = try rows.map { try $0.optionalInteger() }
        if found.isEmpty { return .refused }
        let recipients = found.compactMap(\.self)
        let users = Array(recipients.prefix(page))
        let numbers = try await self.changes(ofUsers: users)
        let look: Int64? = apps.contains(app) ? 0 : nil
        let erased = try await self.query(Self.eraseRecalled, id, now.milliseconds, look).first
        guard let erased else { return .refused }
        try await self.setRecallChanges(users, numbers, ofRecall: id, at: now.milliseconds)
        let isComplete = recipients.count <= page
        _ = try await self.query(Self.replaceWork, id, users.last ?? 0, !isComplete)
        let usage = Usage(notifications: 0, bytes: try erased.optionalInteger() ?? 0)
        try await self.subtract([sender: usage])
        return isComplete ? .complete : .begun
    }

    private static let lockWork = """
        with f as (select 1 from fanout where notification_id = $1 for update),
        s as (select 1 from scheduled where notification_id = $1 for update)
        select n.sender_id, (select count(*) from s) > 0 as is_scheduled, (select count(*) from f), n.app
        from notification n where n.id = $1
        """

    /// The condition that must be true to recall the notification `n`. `$1` is its id, and `$2`
    /// the time.
    private static let recallable =
        "n.id = $1 and n.expires_at > $2 and n.recalled_at is null and n.payload is not null"

    private static let firstRecipients = """
        select r.user_id from notification n
        left join lateral (
            select user_id from recipient
            where \(RecipientKey.byNotification.rows(of: "$1", after: "0")) and dismissed_at is null
            order by \(RecipientKey.byNotification.order) limit $3) as r on true
        where \(recallable) order by r.user_id
        """

    private static let eraseRecalled = """
        with n as (
            select n.id, length(n.payload)::int8 as bytes from notification n
            where \(recallable) for no key update)
        update notification m set payload = null, alert = null, recalled_at = $2, look_user_id = $3
        from n where m.id = n.id returning n.bytes
        """

    private static let replaceWork = """
        with f as (delete from fanout where notification_id = $1),
        s as (delete from scheduled where notification_id = $1)
        insert into recall (notification_id, user_id) select $1, $2 where $3
        """

    /// Gives each recipient the change number that was drawn for it.
    fileprivate func setRecallChanges(
        _ users: [Int64],
        _ numbers: [Int64: Int64],
        ofRecall id: Int64,
        at time: Int64
    ) async throws {
        if users.isEmpty { return }
        _ = try await self.query(
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
            try users.map { try PostgreSQLStore.number(of: $0, in: numbers) },
            time
        )
    }
}
