internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A post with what can be made of it before its transaction.
struct PreparedPost: Sendable {
    let notification: NewNotification
    let request: IdempotentRequest?
    let record: AuditRecord?
    let audience: HashedAudience

    init(_ post: NewPost, _ index: BlindIndex, _ tags: TagPolicy) {
        self.notification = post.notification
        self.request = post.request
        self.record = post.record
        self.audience = HashedAudience(post.notification.audience, index, tags)
    }
}

/// Posts of one sender that are stored one after the other in one transaction.
///
/// What decides, and whatever other transactions wait for, is read and locked once for all of them, in the order that all
/// transactions lock in: the requests' keys, the accounts of the users whom they name, these users' counters of changes.
/// The sender's usage comes last, since all posts of a sender wait for it.
struct PostBatch {
    /// Other posts of the sender, which were committed meanwhile, have reached its bounds.
    struct Overtaken: Error {}

    /// When the bounds are checked under a lock of the sender's usage.
    enum BoundsCheck: Sendable {
        /// At the end; throws `Overtaken` if the posts are beyond the bounds then.
        case late
        /// From the start on, so that other posts of the sender wait for this transaction.
        case early
    }

    private struct NamedUser {
        let id: Int64
        let apps: Set<AppName>
    }

    private let store: PostgreSQLStore
    private let tx: WriteTransaction
    private let bounds: StorageBounds?
    private let page: Int
    private var keys: IdempotencyKeys
    private let usage: Usage
    private let users: [Data: NamedUser]
    /// The next number of each of these users.
    private var numbers: [Int64: Int64]
    /// What this transaction has stored.
    private var added = Usage()

    /// Reads and locks what the posts need.
    init(
        _ posts: [PreparedPost],
        of batch: IdempotentRequest?,
        from first: NewNotification,
        within bounds: StorageBounds?,
        _ check: BoundsCheck,
        page: Int,
        by store: PostgreSQLStore,
        _ tx: WriteTransaction
    ) async throws {
        (self.store, self.tx, self.bounds, self.page) = (store, tx, bounds, page)
        let requests = (batch.map { [$0] } ?? []) + posts.compactMap(\.request)
        self.keys = try await IdempotencyKeys(tx, requests, for: first)
        if bounds != nil, check == .early { try await Self.lockUsage(tx, of: first.sender) }
        (self.users, self.usage) = try await Self.users(tx, of: posts, sender: first.sender)
        var counts: [Int64: Int] = [:]
        for post in posts where post.notification.sendAt == nil {
            if let request = post.request, try self.keys.earlierOutcome(of: request) != nil { continue }
            for id in Set(post.audience.users.compactMap { self.users[$0.key]?.id }) { counts[id, default: 0] += 1 }
        }
        self.numbers = try await tx.numbers(counts)
    }

    /// Stores the posts; returns an outcome for each.
    mutating func store(_ posts: [PreparedPost], of batch: IdempotentRequest?) async throws -> [PostOutcome] {
        var isNoted = batch == nil
        if let batch, let earlier = try self.keys.earlierOutcome(of: batch) {
            guard earlier != .keyReused else {
                try await self.keys.write(self.tx)
                return posts.map { _ in .keyReused }
            }
            isNoted = true
        }
        var outcomes: [PostOutcome] = []
        outcomes.reserveCapacity(posts.count)
        for post in posts {
            // Later ones wait, so that all are stored in their order.
            guard outcomes.last != .idTaken else {
                outcomes.append(.idTaken)
                continue
            }
            let outcome = try await self.store(post)
            if !isNoted, let batch, case .stored(let reach, _) = outcome {
                self.keys.note(batch, of: post.notification, reach)
                isNoted = true
            }
            outcomes.append(outcome)
        }
        try await self.keys.write(self.tx)
        if let sender = posts.first?.notification.sender { try await self.writeUsage(of: sender) }
        return outcomes
    }

    // MARK: - Private

    /// Stores one notification. Refuses it before it writes anything, so that a refusal leaves nothing to roll back.
    private mutating func store(_ post: PreparedPost) async throws -> PostOutcome {
        let notification = post.notification
        if let request = post.request, let earlier = try self.keys.earlierOutcome(of: request) { return earlier }
        let usage = Usage(
            notifications: self.usage.notifications + self.added.notifications,
            bytes: self.usage.bytes + self.added.bytes
        )
        if let excess = self.bounds?.excess(of: usage, adding: notification.sealedPayload.count) {
            return .tooMuch(excess)
        }
        var recipients: Set<Int64> = []
        for user in post.audience.users {
            guard let known = self.users[user.key], known.apps.contains(notification.audience.app) else {
                return .unknownUser(user.name)
            }
            recipients.insert(known.id)
        }
        if notification.sendAt != nil { recipients = [] }
        guard let (sequence, bytes) = try await self.insert(notification, recipients.sorted()) else { return .idTaken }
        self.added.notifications += 1
        self.added.bytes += Int64(bytes)
        var made = (reach: Reach(recipients: 0, pushes: 0, isComplete: false), hasWork: false)
        if notification.sendAt == nil {
            let target = PushTarget(notification, post.audience, sequence: sequence)
            made = try await PostgreSQLStore.enqueue(
                self.tx,
                target,
                besides: recipients,
                page: self.page,
                now: notification.createdAt
            )
        }
        if let request = post.request { self.keys.note(request, of: notification, made.reach) }
        if let record = post.record { self.tx.append(record) }
        return .stored(made.reach, hasWork: made.hasWork)
    }

    /// Inserts a notification with its recipients, or its place in the schedule; `nil` if its id is in use.
    ///
    /// Returns its place in the order of notifications, and how many bytes of payload are stored.
    private mutating func insert(
        _ notification: NewNotification,
        _ recipients: [Int64]
    ) async throws -> (sequence: Int64, bytes: Int)? {
        let (id, sealing) = (notification.id, self.store.sealing)
        // Values sealed before the keyring was exchanged might be stored after the pass of `rewrap`.
        let place = SealedPlace.payload(id, sender: notification.sender)
        let payload = try sealing.vault.renewed(notification.sealedPayload, in: place) ?? notification.sealedPayload
        let alert = try notification.sealedAlert.map { sealed in
            try sealing.vault.renewed(sealed, in: .alert(id, sender: notification.sender)) ?? sealed
        }
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
            Int64.random(in: .min ... .max),
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            payload,
            alert,
            notification.sendAt?.milliseconds,
            isScheduled ? try sealing.seal(expressions, in: .scheduled(id.rawValue)) : nil,
            isScheduled ? try notification.audience.platformNames : nil,
            recipients,
            try recipients.map { try PostgreSQLStore.number(of: $0, in: self.numbers) },
            recipients.map { sealing.rows.recipient(of: id.rawValue, user: $0) }
        )
        guard let row = rows.first else { return nil }
        for user in recipients { self.numbers[user]? += 1 }
        return (try row.integer(0), payload.count)
    }

    /// A notification's place in the order of notifications is the time of its insertion, by the database's clock: its
    /// microseconds since 1970, shifted by 8 bits, and 8 random bits, for notifications of the same microsecond.
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

    /// The users whom the posts name, locked against deletion, and what their sender has stored.
    private static func users(
        _ tx: WriteTransaction,
        of posts: [PreparedPost],
        sender: Int64
    ) async throws -> (users: [Data: NamedUser], usage: Usage) {
        let rows = try await tx.query(Self.lookup, Array(Set(posts.flatMap { $0.audience.users.map(\.key) })), sender)
        var (users, usage) = ([Data: NamedUser](), Usage())
        for row in try rows.map({ $0 }) {
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

    private static func lockUsage(_ tx: WriteTransaction, of sender: Int64) async throws {
        _ = try await tx.query(
            """
            insert into usage (user_id, notifications, bytes) values ($1, 0, 0)
            on conflict (user_id) do update set notifications = usage.notifications
            """,
            sender
        )
    }

    private func writeUsage(of sender: Int64) async throws {
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

extension PushTarget {
    fileprivate init(_ notification: NewNotification, _ audience: HashedAudience, sequence: Int64) {
        self.init(
            id: notification.id.rawValue,
            sequence: sequence,
            collapseID: notification.collapseID,
            isReadOnce: notification.isReadOnce,
            expiresAt: notification.expiresAt,
            audience: audience
        )
    }
}
