internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Posts of several callers, which one transaction stores by the same few statements.
///
/// Each post is for users whom it names, and all their devices. The group reads and locks the rows
/// for all posts at once, in the order of `PostBatch`: the requests' keys, the accounts of the
/// users whom they name, these users' counters of changes. The senders' usage comes last. A
/// refusal is the outcome of its post only.
///
/// Other transactions wait for the rows that a group has locked. So a first run takes only two
/// round trips: it reads and locks; it writes and commits. If a write conflicts, the run fails,
/// and the group runs again.
struct PostGroup {
    /// A post that is stored unless its id is taken.
    struct Chosen {
        let place: Int
        let post: NewPost
        let payload: Data
        let alert: Data?
        let recipients: [Int64]
        var devices: [GroupDevice] = []
    }

    private let members: [PostMember]
    private let run: PostBatch.Run
    private let store: PostgreSQLStore
    private let tx: WriteTransaction
    private var keys: IdempotencyKeys
    private let users: [Data: PostBatch.NamedUser]
    private let takenIDs: Set<Int64>
    private var usage: [Int64: Usage]
    private var numbers: [Int64: Int64]
    private let devices: [Data: [GroupDevice]]
    private var ends: [PostEnd?]

    /// Reads and locks the rows that the posts need.
    init(
        _ members: [PostMember],
        _ run: PostBatch.Run,
        by store: PostgreSQLStore,
        _ tx: WriteTransaction
    ) async throws {
        (self.members, self.run, self.store, self.tx) = (members, run, store, tx)
        let posts = members.map(\.post)
        let requests = posts.compactMap(\.idempotence)
        let senders = Set(posts.map(\.notification.sender)).sorted()
        let reservation =
            requests.isEmpty
            ? []
            : [try run == .first ? IdempotencyKeys.lookup(of: requests) : IdempotencyKeys.reservation(of: requests)]
        let answers = try await tx.query(
            all: reservation + [
                Self.lookUp(for: posts, senders), Self.draw(for: posts), Self.findDevices(of: posts, tx.streamLanes),
            ]
        )
        let rows = requests.isEmpty ? nil : answers[0]
        self.keys =
            run == .first
            ? try IdempotencyKeys(requests, found: rows) : try await IdempotencyKeys(tx, requests, rows)
        let found = try Self.found(answers[reservation.count])
        (self.users, self.takenIDs) = (found.users, found.takenIDs)
        self.numbers = try WriteTransaction.numbers(answers[reservation.count + 1])
        self.devices = try Self.devices(answers[reservation.count + 2])
        // Also waits for the end of the first run's transaction. Must follow the counters, which
        // first runs lock before the usage.
        self.usage =
            run == .first
            ? found.usage : try Self.usage(try await tx.query(all: [Self.adding(senders.map { ($0, Usage()) })])[0])
        self.ends = members.map { _ in nil }
    }

    /// Stores the posts; returns an end for each, or `nil` if the first run was committed.
    mutating func store() async throws -> [PostEnd]? {
        if self.run == .afterLoss, try await PostBatch.isAnyStored(self.tx, of: self.members.map(\.post)) {
            // As in `PostBatch`, this commit confirms the first one's.
            try self.keys.write(self.tx)
            return nil
        }
        if self.run == .first { self.tx.commitWithLastStatements { $0.isOvertaking ? PostBatch.Overtaken() : nil } }
        var chosen = try self.choose()
        let areSomeUnfit = self.fit(&chosen)
        let stored = try await self.insert(chosen)
        var (added, records) = ([Int64: Usage](), [AuditRecord]())
        for chosen in chosen {
            guard stored.contains(chosen.post.seed) else {
                self.ends[chosen.place] = .outcome(.idTaken)
                continue
            }
            let reach = Reach(recipients: chosen.recipients.count, pushes: chosen.devices.count)
            let isDue = chosen.devices.contains { !$0.isAway }
            self.ends[chosen.place] = .outcome(.stored(reach, hasWork: isDue))
            added[chosen.post.notification.sender, default: Usage()].add(chosen.payload)
            for device in chosen.devices { self.tx.count(.enqueued, lane: device.lane) }
            if let request = chosen.post.request { self.keys.record(request, of: chosen.post.notification, reach) }
            if let record = chosen.post.record { records.append(record) }
        }
        // The posts that were refused for lack of room may fit after all.
        if areSomeUnfit || stored.count < chosen.count { self.leaveRefusedAlone() }
        try self.keys.write(self.tx)
        for record in records.merged { self.tx.append(record) }
        try self.write(added)
        return self.ends.map { $0 ?? .alone(.first, last: nil) }
    }

    // MARK: - Private

    /// The posts that nothing refuses. Of posts with the same key or id it takes the first, and
    /// leaves the others to their callers.
    private mutating func choose() throws -> [Chosen] {
        var chosen: [Chosen] = []
        var requests: Set<Data> = []
        var ids = self.takenIDs
        for (place, member) in self.members.enumerated() {
            if let request = member.post.request {
                guard requests.insert(request.key).inserted else { continue }
                if let earlier = try self.keys.earlierOutcome(of: request) {
                    self.ends[place] = .outcome(earlier)
                    continue
                }
            }
            if let refusal = self.refusal(of: member) {
                self.ends[place] = .outcome(refusal)
                continue
            }
            guard ids.insert(member.post.notification.id.rawValue).inserted else { continue }
            let recipients = Set(member.post.audience.users.compactMap { self.users[$0.key]?.id })
            let (payload, alert) = try member.post.renewed(by: self.store.sealing.vault)
            self.usage[member.post.notification.sender, default: Usage()].add(payload)
            chosen.append(
                Chosen(
                    place: place,
                    post: member.post,
                    payload: payload,
                    alert: alert,
                    recipients: recipients.sorted()
                )
            )
        }
        return chosen
    }

    private func refusal(of member: PostMember) -> PostOutcome? {
        let notification = member.post.notification
        let usage = self.usage[notification.sender] ?? Usage()
        if let excess = member.bounds?.excess(
            notifications: Int(clamping: usage.notifications),
            bytes: Int(clamping: usage.bytes),
            adding: notification.sealedPayload.count
        ) {
            return .tooMuch(excess)
        }
        for user in member.post.audience.users {
            guard let known = self.users[user.key], known.apps.contains(notification.audience.app) else {
                return .unknownUser(user.name)
            }
        }
        return self.takenIDs.contains(notification.id.rawValue) ? .idTaken : nil
    }

    /// Assigns the posts their devices. Removes posts that do not fit a group after all: with too
    /// many devices, or with devices of users whom they do not name. Returns whether it removed
    /// any.
    private func fit(_ chosen: inout [Chosen]) -> Bool {
        let count = chosen.count
        chosen = chosen.compactMap { chosen in
            var chosen = chosen
            let found = chosen.post.audience.deviceTags.flatMap { self.devices[$0] ?? [] }
            let own = Dictionary(found.map { ($0.number, $0) }) { first, _ in first }
            guard own.count <= AudienceWalk.page else { return nil }
            guard own.values.allSatisfy({ chosen.recipients.contains($0.user) }) else { return nil }
            chosen.devices = own.values.sorted { $0.number < $1.number }
            return chosen
        }
        return chosen.count < count
    }

    /// Returns the seeds of the stored posts: in a first run all, or it is overtaken.
    private mutating func insert(_ chosen: [Chosen]) async throws -> Set<Int64> {
        if chosen.isEmpty { return [] }
        var recipients: [GroupRecipient] = []
        let rows = self.store.sealing.rows
        for chosen in chosen {
            let (notification, seed) = (chosen.post.notification, chosen.post.seed)
            let id = notification.id.rawValue
            for user in chosen.recipients {
                let change = try PostgreSQLStore.number(of: user, in: self.numbers)
                self.numbers[user] = change &+ 1
                let mac = rows.recipient(of: id, user: user)
                recipients.append(
                    GroupRecipient(
                        id: id,
                        seed: seed,
                        user: user,
                        change: change,
                        createdAt: notification.createdAt.milliseconds,
                        isReadOnce: notification.isReadOnce,
                        mac: mac
                    )
                )
            }
        }
        guard self.run == .first else {
            return try Self.seeds(try await self.tx.query(all: [Self.insertion(of: chosen, recipients)])[0])
        }
        for statement in try Self.insertionOfAll(chosen, recipients) { self.tx.queryLast(statement) }
        return Set(chosen.map(\.post.seed))
    }

    private mutating func leaveRefusedAlone() {
        for (place, end) in self.ends.enumerated() {
            if case .outcome(.tooMuch)? = end { self.ends[place] = nil }
        }
    }

    /// Writes the usage last, since all posts of a sender wait for its row. Other transactions can
    /// overtake only the first run, because later runs have locked the row. A later run that
    /// exceeds one member's limits is within another member's.
    private func write(_ added: [Int64: Usage]) throws {
        if added.isEmpty { return }
        let added = added.sorted { $0.key < $1.key }.map { (sender: $0.key, usage: $0.value) }
        guard self.run == .first else { return self.tx.queryLast(try Self.adding(added)) }
        var most: [Int64: Usage] = [:]
        for member in self.members {
            guard let bounds = member.bounds else { continue }
            let known = most[member.post.notification.sender]
            most[member.post.notification.sender] = Usage(
                notifications: min(Int64(bounds.notifications), known?.notifications ?? .max),
                bytes: min(Int64(bounds.bytes), known?.bytes ?? .max)
            )
        }
        self.tx.queryLast(try Self.adding(added, most: most))
    }
}

extension DatabaseError {
    /// Whether an id or a key was taken meanwhile, or a limit was reached: see
    /// `PostGroup.usageAdditionWithinBounds`.
    fileprivate var isOvertaking: Bool { self.code == "23505" || self.code == "22003" }
}

extension Usage {
    fileprivate mutating func add(_ payload: Data) {
        self.notifications += 1
        self.bytes += Int64(payload.count)
    }
}
