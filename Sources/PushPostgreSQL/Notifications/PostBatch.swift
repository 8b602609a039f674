internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension NewPost {
    /// The idempotent request of this post, with the notification that it stores.
    var idempotence: (request: IdempotentRequest, for: NewNotification)? {
        self.request.map { ($0, self.notification) }
    }
}

/// Posts of one sender that one transaction stores one after the other.
///
/// Reads and locks the rows for all posts at once, in the order in which all transactions lock:
/// the requests' keys, the accounts of the users whom they name, these users' counters of changes.
/// The sender's usage comes last, since all posts of a sender wait for it.
struct PostBatch {
    /// Other posts of the sender, which were committed meanwhile, have reached its limits.
    struct Overtaken: Error {}

    /// The run of the transaction.
    enum Run: Sendable {
        /// Checks the limits at the end, and throws `Overtaken` if the posts exceed them.
        case first
        /// Other posts of the sender wait for this transaction before it stores anything.
        case overtaken
        /// The posts were overtaken, and the connection was lost during the first run's commit.
        /// Stores nothing if that run has stored anything.
        case afterLoss
    }

    struct NamedUser {
        let id: Int64
        let apps: Set<AppName>
    }

    let store: PostgreSQLStore
    let tx: WriteTransaction
    let bounds: StorageBounds?
    private let page: Int
    private let run: Run
    private var keys: IdempotencyKeys
    private let usage: Usage
    private let users: [Data: NamedUser]
    /// The next number of each of these users.
    var numbers: [Int64: Int64]
    /// The usage that this transaction has added.
    var added = Usage()
    private var records: [AuditRecord] = []

    /// Reads and locks the rows that the posts need.
    init(
        _ posts: [NewPost],
        of batch: IdempotentRequest?,
        from first: NewNotification,
        within bounds: StorageBounds?,
        _ run: Run,
        page: Int,
        by store: PostgreSQLStore,
        _ tx: WriteTransaction
    ) async throws {
        (self.store, self.tx, self.bounds, self.page, self.run) = (store, tx, bounds, page, run)
        let requests = (batch.map { [($0, first)] } ?? []) + posts.compactMap(\.idempotence)
        let keys = try await IdempotencyKeys(tx, requests)
        let (users, usage) = try await Self.users(tx, of: posts, sender: first.sender)
        var counts: [Int64: Int] = [:]
        for post in posts where post.notification.sendAt == nil {
            if let request = post.request, try keys.earlierOutcome(of: request) != nil { continue }
            for id in Set(post.audience.users.compactMap { users[$0.key]?.id }) { counts[id, default: 0] += 1 }
        }
        (self.keys, self.users) = (keys, users)
        self.numbers = try await tx.numbers(counts)
        // Also waits for the end of the first run's transaction. Must follow the counters, which
        // first runs lock before the usage.
        self.usage = run == .first ? usage : try await Self.lockUsage(tx, of: first.sender)
    }

    /// Stores the posts; returns an outcome for each, or `nil` if the first run was committed.
    mutating func store(_ posts: [NewPost], of batch: IdempotentRequest?) async throws -> [PostOutcome]? {
        if self.run == .afterLoss, try await Self.isAnyStored(self.tx, of: posts) {
            // This transaction has written the sender's usage. So its commit confirms the first
            // one's: PostgreSQL replicates them in order.
            try self.keys.write(self.tx)
            return nil
        }
        var isNoted = batch == nil
        if let batch, let earlier = try self.keys.earlierOutcome(of: batch) {
            guard earlier != .keyReused else {
                try self.keys.write(self.tx)
                return posts.map { _ in .keyReused }
            }
            isNoted = true
        }
        var outcomes: [PostOutcome] = []
        outcomes.reserveCapacity(posts.count)
        for post in posts {
            // After a taken id, later posts are not stored either, so that all are stored in
            // order.
            guard outcomes.last != .idTaken else {
                outcomes.append(.idTaken)
                continue
            }
            let outcome = try await self.store(post)
            if !isNoted, let batch, case .stored(let reach, _) = outcome {
                self.keys.record(batch, of: post.notification, reach)
                isNoted = true
            }
            outcomes.append(outcome)
        }
        try self.keys.write(self.tx)
        for record in self.records.merged { self.tx.append(record) }
        if let sender = posts.first?.notification.sender { try await self.writeUsage(of: sender) }
        return outcomes
    }

    // MARK: - Private

    /// Stores one notification. Refuses it before it writes anything, so that a refusal needs no
    /// rollback.
    private mutating func store(_ post: NewPost) async throws -> PostOutcome {
        let notification = post.notification
        if let request = post.request, let earlier = try self.keys.earlierOutcome(of: request) { return earlier }
        let usage = Usage(
            notifications: self.usage.notifications + self.added.notifications,
            bytes: self.usage.bytes + self.added.bytes
        )
        if let excess = self.bounds?.excess(
            notifications: Int(clamping: usage.notifications),
            bytes: Int(clamping: usage.bytes),
            adding: notification.sealedPayload.count
        ) {
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
        guard let (sequence, bytes) = try await self.insert(post, recipients.sorted()) else { return .idTaken }
        self.added.notifications += 1
        self.added.bytes += Int64(bytes)
        var made = (reach: Reach(recipients: 0, pushes: 0, isComplete: false), hasWork: false)
        if notification.sendAt == nil {
            made = try await PostgreSQLStore.enqueue(
                self.tx,
                PushTarget(post, sequence: sequence),
                besides: recipients,
                page: self.page,
                now: notification.createdAt
            )
        }
        if let request = post.request { self.keys.record(request, of: notification, made.reach) }
        if let record = post.record { self.records.append(record) }
        return .stored(made.reach, hasWork: made.hasWork)
    }
}
