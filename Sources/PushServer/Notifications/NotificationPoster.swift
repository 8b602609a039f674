internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Encrypts and stores notifications, and enqueues their pushes.
struct NotificationPoster: Sendable {
    let store: any PostStore & KeyStore
    let collapseIDs: CollapseIDs
    let ids: NotificationIDs
    /// The limits of what a user may store, by the user's role.
    let bounds: [Role: StorageBounds]
    /// Wakes the delivery, and informs it of the time at which the next scheduled notification is
    /// due, and of the trace that a push belongs to: the trace of the sender's request.
    let links: ProcessLinks
    /// Counts stored notifications, for operators.
    let history: StatusHistory

    /// The largest number of ids that are drawn for one notification. A random id of 31 bits may
    /// be in use already; the server then draws another one. Because of the limit, the sender gets
    /// an error if no id is free.
    static let maximumAttempts = 100
    static let noFreeID = Problem(.busy, "no free notification id was found; try again")

    /// Stores the notification of an order, or returns the result of an earlier request with the
    /// same `Idempotency-Key` (`once`). Throws a problem if a recipient is unknown or the sender
    /// has stored too much.
    func post(
        _ order: NotificationOrder,
        payload: [UInt8],
        of context: RequestContext,
        once request: IdempotentRequest? = nil,
        record: (NotificationID) throws -> AuditRecord
    ) async throws -> SentNotification {
        let sender = try context.user
        for attempt in 0..<Self.maximumAttempts {
            let id = self.drawID(at: context.now, attempt: attempt)
            let post = try self.newPost(
                order,
                payload,
                as: id,
                from: sender,
                now: context.now,
                once: request,
                by: record(id)
            )
            let outcomes = try await self.store([post], from: sender, in: context.id)
            for outcome in outcomes {
                try await self.explain(outcome, of: order.audience.app, to: sender, context.reader)
                if let sent = try self.sent(order, as: post, outcome, from: sender) { return sent }
            }
        }
        throw Self.noFreeID
    }

    /// Draws an id that is most likely free and is not in `taken`. Two ids of the same `moment`
    /// are close to each other.
    func drawID(at moment: Date, attempt: Int, besides taken: Set<NotificationID> = []) -> NotificationID {
        var attempts = 0
        while true {
            // This condition rarely fails: `draw` chooses among at least 2^16 numbers, of which
            // only 0 is not an id.
            guard let id = self.ids.draw(at: moment, attempt: attempt) else { continue }
            // If the configuration allows few ids, perhaps none is free; then the store refuses
            // the returned id.
            attempts += 1
            if attempts == Self.maximumAttempts || !taken.contains(id) { return id }
        }
    }

    /// Encrypts the payload of an order for the id that the notification gets.
    func newPost(
        _ order: NotificationOrder,
        _ payload: [UInt8],
        as id: NotificationID,
        from sender: User,
        now: Date,
        once request: IdempotentRequest?,
        by record: AuditRecord
    ) throws -> NewNotification {
        // If the time is in the past, the notification is sent now. So a client may repeat a
        // request after its `SendAt`.
        let sendAt = order.sendAt.flatMap { $0 > now ? $0 : nil }
        let expiresAt = (sendAt ?? now) + TimeInterval(order.lifetime.components.seconds)
        let (vault, until) = (
            self.store.vault, SealedUntil(expiresAt: expiresAt, isReadOnce: order.isReadOnce, now: now)
        )
        let alert = try order.alert.map {
            try vault.seal(JSONEncoder().encode($0.alert), in: .alert(id, sender: sender.id), until: until)
        }
        return NewNotification(
            id: id,
            sender: sender.id,
            sealedPayload: try vault.seal(payload, in: .payload(id, sender: sender.id), until: until),
            audience: self.store.hashed(order.audience),
            createdAt: now,
            expiresAt: expiresAt,
            options: NotificationOptions {
                $0.sealedAlert = alert
                $0.isStoredByClients = order.isStoredByClients
                $0.isReadOnce = order.isReadOnce
                $0.isEndToEnd = EndToEndPayload.isClaimed(by: payload)
                $0.priority = order.priority
                $0.collapseID = order.collapseKey.map { self.collapseIDs.id(of: $0, from: sender.id) }
                $0.sendAt = sendAt
                $0.request = request
            },
            by: record
        )
    }

    /// Stores new notifications of one sender, and wakes the delivery if there are pushes to send.
    func store(
        _ posts: [NewNotification],
        of batch: IdempotentRequest? = nil,
        from sender: User,
        in request: RequestID
    ) async throws -> [PostOutcome] {
        let bounds = self.bounds[sender.role]
        // The traces are recorded first: once the store has the notifications, the delivery may
        // send them before the next line runs.
        if let trace = request.trace { for post in posts { self.links.traces.record(trace, of: post.id) } }
        let outcomes = try await self.store.post(PostRequest(posts, of: batch, within: bounds))
        if outcomes.contains(where: \.hasWork) { self.links.workIsWaiting() }
        for (post, outcome) in zip(posts, outcomes) {
            guard case .stored = outcome else { continue }
            self.history.countPost()
            if let sendAt = post.options.sendAt { self.links.schedule.record(sendAt) }
        }
        return outcomes
    }

    /// The answer to the sender; `nil` if the notification's id is in use, so that the
    /// notification needs another id. Throws a problem if the store has refused the notification.
    func sent(
        _ order: NotificationOrder,
        as notification: NewNotification,
        _ outcome: PostOutcome,
        from sender: User
    ) throws(Problem) -> SentNotification? {
        switch outcome {
        case .stored(let reach, _):
            return SentNotification(
                order: order,
                id: notification.id,
                createdAt: notification.createdAt,
                expiresAt: notification.expiresAt,
                reach: reach.isComplete ? reach : nil
            )
        case .repeated(let id, let createdAt, let expiresAt, let reach):
            return SentNotification(order: order, id: id, createdAt: createdAt, expiresAt: expiresAt, reach: reach)
        case .keyReused: throw Problem(.idempotencyKeyReused)
        case .tooMuch(let excess): throw Problem(.tooMuchStored, self.bounds[sender.role].map(excess.detail))
        case .idTaken: return nil
        case .unknownUser(let name): throw Problem(.unknownUser, "user \(name) does not exist")
        case .encryptionRequired(let name):
            throw Problem(.encryptionRequired, "user \(name) accepts end-to-end payloads only")
        }
    }

    /// Throws a problem if a recipient does not belong to the notification's app. The problem
    /// names the recipient's apps.
    ///
    /// Does nothing for senders who are not administrators: for such senders, a user outside of
    /// the app does not exist.
    func explain(
        _ outcome: PostOutcome,
        of app: AppName,
        to sender: User,
        _ reader: any StoreReader
    ) async throws {
        guard
            case .unknownUser(let name) = outcome, sender.role == .admin,
            let user = try await reader.user(named: name), !user.apps.contains(app)
        else { return }
        let apps = user.apps.sorted().map(\.description).joined(separator: ", ")
        let list = apps.isEmpty ? "the user belongs to no app" : "the user's apps are \(apps)"
        throw Problem(.unknownUser, "user \(name) does not belong to the app \(app); \(list)")
    }
}

extension PostOutcome {
    fileprivate var hasWork: Bool {
        if case .stored(_, let hasWork) = self { hasWork } else { false }
    }
}
