internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The statements of a batch.
extension PostBatch {
    /// Inserts a notification with its recipients, or its place in the schedule; `nil` if its id
    /// is in use.
    ///
    /// Returns its place in the order of notifications, and the number of payload bytes stored.
    mutating func insert(
        _ post: NewPost,
        _ recipients: [Int64]
    ) async throws -> (sequence: Int64, bytes: Int)? {
        let (notification, id, sealing) = (post.notification, post.notification.id, self.store.sealing)
        let (payload, alert) = try post.renewed(by: sealing.vault)
        let isScheduled = notification.sendAt != nil
        let expressions = notification.audience.expressions.map(\.description)
        let rows = try await self.tx.query(
            Self.insertion,
            id.rawValue,
            notification.sender,
            notification.audience.app.stored,
            notification.isStoredByClients,
            notification.isReadOnce,
            notification.priority.rawValue,
            notification.collapseID,
            Int64.random(in: 0..<256),
            post.seed,
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload,
            alert,
            notification.sendAt?.milliseconds,
            try isScheduled
                ? sealing.seal(expressions, in: .scheduled(id.rawValue), until: notification.expiresAt) : nil,
            try isScheduled ? notification.audience.platformNames : nil,
            recipients,
            try recipients.map { try PostgreSQLStore.number(of: $0, in: self.numbers) },
            recipients.map { sealing.rows.recipient(of: id.rawValue, user: $0) }
        )
        guard let row = rows.first else { return nil }
        for user in recipients { self.numbers[user]? += 1 }
        return (try row.integer(0), payload.count)
    }

    /// A notification's place in the order of notifications is the time of its insertion, by the
    /// database's clock. It consists of the microseconds since 1970, shifted by 8 bits, and 8
    /// random bits for notifications of the same microsecond.
    static let insertion = """
        with n as (
            insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id,
                sequence, seed, created_at, expires_at, payload, alert)
            values ($1, $2, $3, $4, $5, $6, $7,
                (extract(epoch from clock_timestamp()) * 1000000)::int8 << 8 | $8, $9, $10, $11, $12, $13)
            on conflict (id) do nothing returning id, sequence),
        s as (
            insert into scheduled (notification_id, due_at, sequence, expressions, platforms)
            select n.id, $14, n.sequence, $15::bytea, $16::text from n where $14::int8 is not null),
        r as (
            insert into recipient (notification_id, user_id, change, changed_at, mac)
            select n.id, t.user_id, t.change, $10, t.mac
            from n cross join unnest($17::int8[], $18::int8[], $19::int8[]) as t (user_id, change, mac)
            returning notification_id, user_id),
        w as (
            insert into untaken (notification_id, user_id) select r.notification_id, r.user_id from r where $5)
        select n.sequence from n
        """

    /// Whether an earlier run has stored one of the notifications.
    static func isAnyStored(_ tx: WriteTransaction, of posts: [NewPost]) async throws -> Bool {
        try await tx.query(
            """
            select n.id from unnest($1::int8[], $2::int8[], $3::int8[]) as t (id, sender_id, seed)
            join notification n on n.id = t.id and n.sender_id = t.sender_id and n.seed = t.seed limit 1
            """,
            posts.map(\.notification.id.rawValue),
            posts.map(\.notification.sender),
            posts.map(\.seed)
        ).count > 0
    }

    /// The users whom the posts name, locked against deletion, and the usage of their sender.
    static func users(
        _ tx: WriteTransaction,
        of posts: [NewPost],
        sender: Int64
    ) async throws -> (users: [Data: NamedUser], usage: Usage) {
        let rows = try await tx.query(Self.lookup, Array(Set(posts.flatMap { $0.audience.users.map(\.key) })), sender)
        var (users, usage) = ([Data: NamedUser](), Usage())
        for row in rows.map({ $0 }) {
            usage = Usage(
                notifications: try row.optionalInteger(0) ?? 0,
                bytes: try row.optionalInteger(1) ?? 0
            )
            guard let key = try row.optionalData(2), let id = try row.optionalInteger(3) else { continue }
            users[key] = NamedUser(id: id, apps: Set(storedApps: try row.optionalText(4)))
        }
        return (users, usage)
    }

    static let lookup = """
        with a as (
            select name_key, id, apps from account where name_key = any($1::bytea[]) order by id for key share),
        g as (select notifications, bytes from usage where user_id = $2)
        select g.notifications, g.bytes, a.name_key, a.id, a.apps
        from (select 1) as one left join g on true left join a on true
        """

    /// Locks the sender's usage, and reads it.
    static func lockUsage(_ tx: WriteTransaction, of sender: Int64) async throws -> Usage {
        let row = try await tx.query(
            """
            insert into usage (user_id, notifications, bytes) values ($1, 0, 0)
            on conflict (user_id) do update set notifications = usage.notifications
            returning notifications, bytes
            """,
            sender
        ).first
        return Usage(notifications: try row?.integer(0) ?? 0, bytes: try row?.integer(1) ?? 0)
    }

    func writeUsage(of sender: Int64) async throws {
        guard self.added.notifications > 0 else { return }
        let row = try await self.tx.query(
            """
            insert into usage (user_id, notifications, bytes) values ($1, $2, $3)
            on conflict (user_id) do update set notifications = usage.notifications + excluded.notifications,
                bytes = usage.bytes + excluded.bytes
            returning notifications, bytes
            """,
            sender,
            self.added.notifications,
            self.added.bytes
        ).first
        guard let row, let bounds else { return }
        let usage = Usage(notifications: try row.integer(0), bytes: try row.integer(1))
        if !bounds.allow(usage) { throw Overtaken() }
    }
}
