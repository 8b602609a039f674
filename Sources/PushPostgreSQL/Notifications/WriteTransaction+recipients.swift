internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The key of a row of `recipient`: a notification and one of its recipients.
struct RecipientKey: PairKey {
    /// For most statements on `recipient`, `KeyLookup.equality` suffices: migration P0009 tells
    /// the planner that one column of the key alone matches many rows.
    static let lookup = KeyLookup(columns: ["notification_id", "user_id"])

    /// The index over the recipients of a notification, in the order of the users' ids.
    static let byNotification = PairIndex(first: "notification_id", second: "user_id")

    let notification: Int64
    let user: Int64

    init(_ notification: Int64, _ user: Int64) { (self.notification, self.user) = (notification, user) }

    var numbers: (Int64, Int64) { (self.notification, self.user) }
}

extension WriteTransaction {
    func state(of id: NotificationID, for user: Int64, now: Date) async throws -> RecipientState? {
        try await self.query(Self.state, id.rawValue, user, now.milliseconds).first.map(RecipientState.init)
    }

    private static let state = """
        select \(RecipientState.Column.list)
        from notification n join recipient r on r.notification_id = n.id and r.user_id = $2
        left join untaken w on w.notification_id = n.id and w.user_id = $2
        where n.id = $1 and n.expires_at > $3
        """

    /// Dismisses notifications for recipients, and cancels their pushes. If a mark (read or
    /// unread) is given, dismisses a notification only for a recipient who sees it with this mark.
    /// If the notification was recalled or has expired, nothing changes for the recipient. Returns
    /// the number of changed recipients.
    ///
    /// `numbers` has the first change number for each user. A user's first notification in
    /// `recipients` gets this number, and each further notification gets the next number.
    func hide(
        _ recipients: [RecipientKey],
        _ numbers: [Int64: Int64],
        ifStill mark: ReadMark? = nil,
        reason: String,
        now: Date
    ) async throws -> Int {
        var next = numbers
        let changes = try recipients.map { recipient in
            let number = try PostgreSQLStore.number(of: recipient.user, in: next)
            next[recipient.user] = number + 1
            return number
        }
        let isRead = mark.map { $0 == .read }
        let hidden = try await self.query(Self.hide, keys: recipients, changes, now.milliseconds, isRead)
            .map(RecipientKey.init)
        try await self.cancelPushes(to: hidden.sorted(), reason: reason, now: now)
        return hidden.count
    }

    private static let hide = """
        with l as (
            select r.notification_id, r.user_id, t.change
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, change)
            join recipient r on \(RecipientKey.lookup.equality("r", "t"))
            where r.dismissed_at is null order by r.notification_id, r.user_id for no key update of r)
        update recipient r set dismissed_at = $4, change = l.change, changed_at = $4 from l
        where \(RecipientKey.lookup.equality("r", "l")) and coalesce($5 = (r.read_at is not null), true)
            and (select n.expires_at > $4 and n.payload is not null from notification n where n.id = l.notification_id)
        returning r.notification_id, r.user_id
        """

    /// Sets the mark (read or unread) of the visible notifications that do not have this mark yet;
    /// returns these notifications.
    ///
    /// `numbers` has the first of the change numbers that were drawn for the user.
    func mark(
        _ ids: [Int64],
        as mark: ReadMark,
        by user: Int64,
        from numbers: [Int64: Int64],
        now: Date
    ) async throws -> [Int64] {
        let first = try PostgreSQLStore.number(of: user, in: numbers)
        return try await self.query(
            """
            update recipient r set read_at = $4, change = t.change, changed_at = $5
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, change, user_id)
            where \(RecipientKey.lookup.equality("r", "t")) and r.dismissed_at is null
                and (r.read_at is null) = ($4::int8 is not null)
                and (select n.expires_at > $5 and n.payload is not null from notification n where n.id = t.notification_id)
            returning r.notification_id
            """,
            ids,
            ids.indices.map { first + Int64($0) },
            ids.map { _ in user },
            mark == .read ? now.milliseconds : nil,
            now.milliseconds
        ).map { try $0.integer() }
    }

    /// Records that these recipients no longer wait for their payloads. Erases the payloads that
    /// no recipient waits for any more.
    func recordTaken(_ recipients: [RecipientKey]) async throws {
        let ids = try await self.query(Self.deleteUntaken, keys: recipients).map { try $0.integer() }
        try await self.eraseIfTaken(Set(ids).sorted())
    }

    private static let deleteUntaken = """
        delete from untaken w using unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
        where \(RecipientKey.lookup.condition("w", "t")) returning w.notification_id
        """

    /// Erases the read-once payloads of `notifications`, if no recipient waits for them and their
    /// fan-out has ended.
    ///
    /// The transaction must already have deleted its rows of `untaken` and `fanout`. If two
    /// transactions delete the last two such rows, the second one waits for the notification's row
    /// here. It then sees the deletion by the first, and erases the payload.
    func eraseIfTaken(_ notifications: [Int64]) async throws {
        if notifications.isEmpty { return }
        let found = try await self.query(
            """
            select id, sender_id, length(payload)::int8 as bytes from notification
            where id = any($1::int8[]) and is_read_once and payload is not null order by id for no key update
            """,
            notifications
        ).map { (id: try $0.integer("id"), sender: try $0.integer("sender_id"), bytes: try $0.integer("bytes")) }
        if found.isEmpty { return }
        // The erasure is a separate statement, which must see commits that happened while the
        // previous statement waited for its locks.
        let erased = Set(
            try await self.query(
                """
                update notification n set payload = null, alert = null where n.id = any($1::int8[])
                    and (select 1 from untaken w where w.notification_id = n.id limit 1) is null
                    and (select 1 from fanout f where f.notification_id = n.id limit 1) is null
                returning n.id
                """,
                found.map(\.id)
            ).map { try $0.integer() }
        )
        var freed: [Int64: Usage] = [:]
        for notification in found where erased.contains(notification.id) {
            freed[notification.sender, default: Usage()].bytes += notification.bytes
        }
        try await self.subtract(freed)
    }

    func cancelPushes(to recipients: [RecipientKey], reason: String, now: Date) async throws {
        let pushes = try await self.query(Self.pushesToRecipients, keys: recipients).map(DuePush.init)
        try await self.cancel(pushes, reason: reason, now: now)
    }

    /// Selects the pushes of these recipients, beginning with their devices: a user has few
    /// devices, but a broadcast has very many pushes.
    static let pushesToRecipients = """
        select p.notification_id, p.device from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
        join device d on d.user_id = t.user_id
        \(DuePush.lookup.join("notification_id, device", of: "push", as: "p", with: "t", ["device": "d.number"]))
        order by 1, 2
        """

    /// Subtracts erased notifications and payloads from their senders' usage (how many
    /// notifications and bytes they have stored).
    ///
    /// This must be the transaction's last statement: all posts of a sender wait for its row of
    /// `usage`.
    func subtract(_ erased: [Int64: Usage]) async throws {
        let senders = erased.keys.sorted()
        if senders.isEmpty { return }
        if senders.count > 1 {
            // A separate statement locks the rows, because the update itself might lock them in
            // any order.
            _ = try await self.query(
                "select user_id from usage where user_id = any($1::int8[]) order by user_id for no key update",
                senders
            )
        }
        _ = try await self.query(
            """
            update usage g set notifications = g.notifications - t.notifications, bytes = g.bytes - t.bytes
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (user_id, notifications, bytes)
            where g.user_id = t.user_id
            """,
            senders,
            senders.map { erased[$0]?.notifications ?? 0 },
            senders.map { erased[$0]?.bytes ?? 0 }
        )
    }

    // MARK: Change numbers

    /// Draws change numbers for each of these users, and locks the users' counters until the
    /// transaction ends. Unused numbers do no harm, since the range of numbers is large enough.
    ///
    /// Returns the first number of each user; the user's further numbers follow it without a gap.
    func changes(ofUsers users: some Sequence<Int64>, each count: Int = 1) async throws -> [Int64: Int64] {
        let users = Set(users).sorted()
        if users.isEmpty { return [:] }
        return try Self.numbers(await self.query(Self.nextChanges, users, count), "change", by: "user_id")
    }

    /// Decodes two columns with numbers, such as the users and the first change numbers that were
    /// drawn for them.
    static func numbers(_ rows: some Collection<Row>, _ value: String, by key: String) throws -> [Int64: Int64] {
        Dictionary(try rows.map { (try $0.integer(key), try $0.integer(value)) }) { first, _ in first }
    }

    /// Draws change numbers. A number is at least the time since 1970 in units of 2⁻³⁰ s, as in
    /// `PostgreSQLStore.newest`. So a database that was restored from a backup does not assign
    /// the same numbers again. Locks the rows in the order of the users' ids.
    private static let nextChanges = WriteTransaction.nextChanges(
        ofUsers: "pg_catalog.unnest($1::int8[]) as u (user_id)"
    )

    static func nextChanges(ofUsers users: String) -> String {
        """
        insert into user_change as c (user_id, change)
        select u.user_id, (extract(epoch from clock_timestamp()) * 1073741824)::int8 + $2 - 1
        from \(users) order by u.user_id
        on conflict (user_id) do update set change = greatest(c.change + $2, excluded.change)
        returning user_id, change - $2 + 1 as change
        """
    }
}
