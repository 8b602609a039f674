internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Posts of several callers, which one transaction stores with the same few statements.
///
/// The group reads and locks the rows for all posts together. All transactions lock rows in the
/// same order. The group first locks the accounts of the users whom the posts name, and then these
/// users' counters of changes. It locks the idempotency keys and the senders' usage last, since
/// all posts of one sender wait for the sender's row of usage. If a post is refused, this affects
/// no other post.
///
/// Other transactions wait for the rows that a group has locked. So a group takes only two round
/// trips: the first reads and locks, the second writes and commits. If a write conflicts with
/// another transaction, the whole group runs again. A post whose devices are found page by page
/// takes more round trips, so it forms a group alone.
struct PostGroup {
    /// The error of a run that another transaction has overtaken. That transaction has taken an id
    /// or an idempotency key, or its posts have reached the storage limit of a sender.
    struct Overtaken: Error {}

    /// The kind of a run of the group's transaction.
    enum Run: Sendable {
        /// The run checks the senders' storage limits at its end, and throws `Overtaken` if the
        /// posts exceed a limit.
        case first
        /// The run begins with a lock on the senders' usage, so that other posts of these senders
        /// wait for this transaction.
        case overtaken
        /// A run like `overtaken`, after the connection was lost during the commit of an earlier
        /// run. If that run has stored anything, this run stores nothing.
        case afterLoss
    }

    /// A post that the group stores.
    struct Chosen {
        let place: Int
        let plan: PostPlan
        let payload: Data
        let alert: Data?
        /// The named users who become recipients with the insertion of the post.
        let recipients: [GroupRecipient]
        /// The devices that get a push; `nil` if they are found page by page, or later.
        let devices: [GroupDevice]?

        var notification: NewNotification { self.plan.post }

        /// The number of recipients and pushes; `nil` until the devices are found.
        var reach: Reach? { self.devices.map { Reach(recipients: self.recipients.count, pushes: $0.count) } }

        var isDue: Bool { self.devices?.contains { !$0.isAway } ?? false }

        var pushes: [(notification: NewNotification, device: GroupDevice)] {
            (self.devices ?? []).map { (self.notification, $0) }
        }
    }

    /// The facts that the decisions on all posts of a group need; they are read together.
    struct Facts: PostFacts {
        var keys: IdempotencyKeys
        var users: [Data: NamedUser] = [:]
        var usage: [Int64: Usage] = [:]
        /// The ids of posts that are already in use.
        var ids: Set<Int64> = []

        func earlier(_ request: IdempotentRequest) -> StoredRequest? { self.keys.stored[request.key] }

        func usage(of sender: Int64) -> Usage { self.usage[sender] ?? Usage() }

        func user(withKey key: Data) -> NamedUser? { self.users[key] }

        func isTaken(_ id: NotificationID) -> Bool { self.ids.contains(id.rawValue) }

        /// Adds the facts in the rows that `lookup` has found.
        mutating func add(_ rows: Rows) throws {
            for row in rows {
                let id = try row.integer("id")
                if let key = try row.optionalData("name_key") {
                    let (apps, isRequired) = (try row.optionalText("apps"), try row.flag("requires_encryption"))
                    self.users[key] = NamedUser(id: id, apps: Set(storedApps: apps), requiresEncryption: isRequired)
                } else if let notifications = try row.optionalInteger("notifications") {
                    self.usage[id] = Usage(notifications: notifications, bytes: try row.integer("bytes"))
                } else {
                    self.ids.insert(id)
                }
            }
        }
    }

    private let members: [PostRequest]
    private let run: Run
    private let isAlone: Bool
    private let store: PostgreSQLStore
    private let tx: WriteTransaction
    private var facts: Facts
    private var numbers: [Int64: Int64]
    private let devices: [Data: [GroupDevice]]
    /// How much the group adds to the stored notifications and bytes of each sender.
    private var added: [Int64: Usage] = [:]
    /// Whether a stored post is for users whom it does not name. They become recipients after all
    /// posts are inserted. So do the recipients of later posts: each user's change numbers are in
    /// the order of the posts.
    private var isWalking = false

    /// Reads the facts for the posts, and locks their rows.
    init(
        _ members: [PostRequest],
        _ run: Run,
        isAlone: Bool,
        by store: PostgreSQLStore,
        _ tx: WriteTransaction
    ) async throws {
        (self.members, self.run, self.isAlone, self.store, self.tx) = (members, run, isAlone, store, tx)
        let posts = members.flatMap(\.posts)
        let requests = members.flatMap(\.requests)
        let senders = Set(posts.map(\.sender)).sorted()
        let keys = requests.isEmpty ? nil : try IdempotencyKeys.lookup(of: requests)
        let draw = try Self.draw(for: posts)
        let direct = isAlone ? members.flatMap { member in member.posts.filter(member.isDirect) } : posts
        let search = direct.isEmpty ? nil : try Self.findDevices(of: direct, tx.streamLanes)
        let statements = try [keys, Self.lookUp(for: posts, senders), draw, search]
        var answers = try await tx.query(all: statements.compactMap { $0 }).makeIterator()
        let rows = keys == nil ? nil : answers.next()
        var facts = Facts(keys: try IdempotencyKeys(requests, found: rows))
        if let rows = answers.next() { try facts.add(rows) }
        let drawn = draw == nil ? nil : answers.next()
        self.facts = facts
        self.numbers = try drawn.map { try WriteTransaction.numbers($0, "change", by: "user_id") } ?? [:]
        self.devices = try answers.next().map(Self.devices) ?? [:]
        if run == .first { return }
        // This statement also waits for the end of the transaction of an earlier run. It must come
        // after the locks on the users' counters of changes: a first run locks these counters
        // before the usage.
        self.facts.usage = try Self.usage(try await tx.query(all: [Self.adding(senders.map { ($0, Usage()) })])[0])
    }

    /// Stores the posts, and returns the outcome for each member. Returns `nil` if an earlier run
    /// has already been committed.
    mutating func store() async throws -> [PostEnd]? {
        if self.run == .afterLoss, try await self.isAnyStored() {
            // This transaction has written the senders' usage, so it has something to commit.
            // PostgreSQL replicates commits in their order, so this commit also confirms that of
            // the earlier run.
            return nil
        }
        self.tx.commitWithLastStatements { $0.isOvertaking ? Overtaken() : nil }
        var postings = self.members.map(Posting.init)
        var chosen: [Chosen] = []
        var fits = postings.map { _ in true }
        for (place, member) in self.members.enumerated() {
            let first = member.posts.first.flatMap { self.devices(of: $0, member) }
            fits[place] = self.isAlone || first != nil
            while fits[place], let plan = try postings[place].next(&self.facts) {
                let devices = plan.index == 0 ? first : self.devices(of: plan.post, member)
                let post = try self.choose(plan, of: place, devices)
                chosen.append(post)
                self.end(post, (post.reach ?? .none, post.isDue), &postings)
            }
        }
        for (post, made) in try await self.insert(chosen) {
            self.end(post, made, &postings)
        }
        try self.facts.keys.write(self.tx)
        for record in postings.flatMap(\.records).merged { self.tx.append(record) }
        try self.writeUsage()
        return zip(postings, fits).map { $1 ? .outcomes($0.outcomes) : .alone(.first, last: nil) }
    }

    // MARK: - Private

    /// The devices of a direct post (one that goes only to users whom it names). `nil` for another
    /// post. Also `nil` for a direct post that turns out to be unsuitable: it has too many
    /// devices, or devices of users whom it does not name.
    private func devices(of post: NewNotification, _ member: PostRequest) -> [GroupDevice]? {
        guard !self.isWalking, !self.isAlone || member.isDirect(post) else { return nil }
        let found = post.audience.deviceTags.flatMap { self.devices[$0] ?? [] }
        let own = Dictionary(found.map { ($0.number, $0) }) { first, _ in first }
        guard own.count <= AudienceWalk.page else { return nil }
        let users = Set(post.audience.users.compactMap { self.facts.users[$0.key]?.id })
        guard own.values.allSatisfy({ users.contains($0.user) }) else { return nil }
        let audience = post.audience.audience
        return own.values.filter { audience.includes(lane: $0.lane) }.sorted { $0.number < $1.number }
    }

    private mutating func choose(_ plan: PostPlan, of place: Int, _ devices: [GroupDevice]?) throws -> Chosen {
        let notification = plan.post
        let (payload, alert) = try notification.renewed(by: self.store.sealing.vault)
        self.facts.ids.insert(notification.id.rawValue)
        self.facts.usage[notification.sender, default: Usage()].add(payload)
        self.added[notification.sender, default: Usage()].add(payload)
        let named = try (self.isWalking ? [] : plan.recipients).sorted().map { user -> GroupRecipient in
            let change = try PostgreSQLStore.number(of: user, in: self.numbers)
            self.numbers[user] = change &+ 1
            let mac = self.store.sealing.rows.recipient(of: notification.id.rawValue, user: user)
            return (notification, user, change, mac)
        }
        if notification.options.sendAt == nil, !notification.audience.isOfNames { self.isWalking = true }
        return Chosen(place: place, plan: plan, payload: payload, alert: alert, recipients: named, devices: devices)
    }

    /// Records the reach of a post, also for its idempotency keys.
    private mutating func end(_ post: Chosen, _ made: (reach: Reach, hasWork: Bool), _ postings: inout [Posting]) {
        for request in post.plan.requests { self.facts.keys.record(request, of: post.notification, made.reach) }
        postings[post.place].end(post.plan, made)
    }

    /// Inserts the posts. If all devices are known, the insertion happens in the same round trip
    /// as the commit. Otherwise this function then finds the devices of some posts page by page.
    /// It returns those posts, each with the number of its recipients and pushes.
    private func insert(_ chosen: [Chosen]) async throws -> [(Chosen, (reach: Reach, hasWork: Bool))] {
        if chosen.isEmpty { return [] }
        for post in chosen { for device in post.devices ?? [] { self.tx.count(.enqueued, lane: device.lane) } }
        let insertion = try Self.insertion(of: chosen, self.store.sealing)
        let statements = [insertion, try Self.untakenInsertion(of: chosen)].compactMap(\.self)
        let walked = chosen.filter { $0.devices == nil && $0.notification.options.sendAt == nil }
        guard !walked.isEmpty else {
            for statement in statements { self.tx.queryLast(statement) }
            return []
        }
        let sequences: [Int64: Int64]
        do {
            sequences = try WriteTransaction.numbers(await self.tx.query(all: statements)[0], "sequence", by: "id")
        } catch let error as DatabaseError where error.isOvertaking {
            throw Overtaken()
        }
        var made: [(Chosen, (reach: Reach, hasWork: Bool))] = []
        for post in walked {
            guard let sequence = sequences[post.notification.id.rawValue] else { throw Overtaken() }
            let (target, now) = (PushTarget(post.notification, sequence: sequence), post.notification.createdAt)
            var named = post.plan.recipients
            if post.recipients.isEmpty {
                named = try await self.tx.insertRecipients(users: named.sorted(), of: target, now: now)
            }
            let page = self.members[post.place].page ?? AudienceWalk.page
            made.append((post, try await self.tx.enqueue(target, besides: named, page: page, now: now)))
        }
        return made
    }

    /// Writes the senders' usage. This write comes last, since all posts of a sender wait for the
    /// sender's row of usage. Only in a first run can other transactions have used up a sender's
    /// storage limit meanwhile: later runs lock the usage at their beginning.
    private func writeUsage() throws {
        if self.added.isEmpty { return }
        let added = self.added.sorted { $0.key < $1.key }.map { (sender: $0.key, usage: $0.value) }
        guard self.run == .first else { return self.tx.queryLast(try Self.adding(added)) }
        var most: [Int64: Usage] = [:]
        for member in self.members {
            guard let bounds = member.bounds, let sender = member.posts.first?.sender else { continue }
            most[sender] = Usage(
                notifications: min(Int64(bounds.notifications), most[sender]?.notifications ?? .max),
                bytes: min(Int64(bounds.bytes), most[sender]?.bytes ?? .max)
            )
        }
        self.tx.queryLast(try Self.adding(added, most: most))
    }

    private func isAnyStored() async throws -> Bool {
        let posts = self.members.flatMap(\.posts)
        let ids = posts.map(\.id.rawValue)
        return try await self.tx.query(Self.anyStored, ids, posts.map(\.sender), posts.map(\.seed)).count > 0
    }

    private static let anyStored = """
        select n.id from unnest($1::int8[], $2::int8[], $3::int8[]) as t (id, sender_id, seed)
        join notification n on n.id = t.id and n.sender_id = t.sender_id and n.seed = t.seed limit 1
        """
}

extension DatabaseError {
    /// Whether another transaction has overtaken this transaction: an id or a key was taken
    /// (23505), or a sender reached its limit (22003, see `PostGroup.usageAdditionWithinBounds`).
    fileprivate var isOvertaking: Bool { self.code == "23505" || self.code == "22003" }
}
