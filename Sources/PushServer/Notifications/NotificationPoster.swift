internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Seals and stores notifications, with the work of pushing them.
struct NotificationPoster: Sendable {
    let store: any PostStore & KeyStore
    let collapseIDs: CollapseIDs
    let ids: NotificationIDs
    /// How much users of a role may have stored at a time.
    let bounds: [Role: StorageBounds]
    /// Tells the delivery that there is work.
    let workIsWaiting: @Sendable () -> Void
    /// Tells the delivery when the next scheduled notification is due.
    let schedule: ReleaseSchedule
    /// Counts what is stored, for operators.
    let history: StatusHistory
    /// Tells the delivery which traces its pushes belong to.
    let traces: RequestTraces

    /// What the sender learns of a stored notification.
    struct Posted {
        let id: NotificationID
        let createdAt: Date
        let expiresAt: Date
        /// `nil` as long as it is not known, while a broadcast reaches its devices.
        let reach: Reach?
    }

    /// Random ids of 31 bits do collide; the tries are bounded only so that a full table ends in an error.
    static let tries = 100
    static let noFreeID = Problem(.busy, "no free notification id was found; try again")

    /// Stores the notification of an order, or returns the result of the same request (`once`) from before. Throws a
    /// problem if a recipient is unknown or the sender has stored too much.
    func post(
        _ order: NotificationOrder,
        payload: [UInt8],
        of context: RequestContext,
        once request: IdempotentRequest? = nil,
        record: (NotificationID) throws -> AuditRecord
    ) async throws -> Posted {
        let sender = try context.user
        for _ in 0..<Self.tries {
            let post = try self.newPost(order, payload, from: sender, now: context.now, once: request, record)
            let outcomes = try await self.store([post], from: sender, in: context.id)
            for outcome in outcomes {
                if let posted = try self.posted(post.notification, outcome, from: sender) { return posted }
            }
        }
        throw Self.noFreeID
    }

    /// Seals the payload of an order under an id that is most likely free, and none of the `taken` ones. Ids that are drawn
    /// at the same `moment`, by default now, are near each other.
    func newPost(
        _ order: NotificationOrder,
        _ payload: [UInt8],
        from sender: User,
        now: Date,
        idAt moment: Date? = nil,
        besides taken: Set<NotificationID> = [],
        once request: IdempotentRequest?,
        _ record: (NotificationID) throws -> AuditRecord
    ) throws -> NewPost {
        let id = self.drawID(at: moment ?? now, besides: taken)
        // A time that has passed means now, also for a request that is sent again.
        let sendAt = order.sendAt.flatMap { $0 > now ? $0 : nil }
        let expiresAt = (sendAt ?? now) + TimeInterval(order.lifetime.components.seconds)
        let (vault, until) = (
            self.store.vault, SealedUntil(expiresAt: expiresAt, isReadOnce: order.isReadOnce, now: now)
        )
        let notification = NewNotification(
            id: id,
            sender: sender.id,
            sealedPayload: try vault.seal(payload, in: .payload(id, sender: sender.id), until: until),
            sealedAlert: try order.alert.map {
                try vault.seal(JSONEncoder().encode($0.alert), in: .alert(id, sender: sender.id), until: until)
            },
            audience: order.audience,
            isStoredByClients: order.isStoredByClients,
            isReadOnce: order.isReadOnce,
            priority: order.priority,
            collapseID: order.collapseKey.map { self.collapseIDs.id(of: $0, from: sender.id) },
            createdAt: now,
            expiresAt: expiresAt,
            sendAt: sendAt
        )
        let audience = self.store.hashed(order.audience)
        return NewPost(notification, to: audience, once: request, by: try record(id))
    }

    /// Stores new notifications of one sender; tells the delivery if there is work.
    func store(
        _ posts: [NewPost],
        of batch: IdempotentRequest? = nil,
        from sender: User,
        in request: RequestID
    ) async throws -> [PostOutcome] {
        let bounds = self.bounds[sender.role]
        // Before they are stored: the delivery may be faster than the next line.
        if let trace = request.trace { for post in posts { self.traces.note(trace, of: post.notification.id) } }
        let outcomes = try await self.store.post(posts, of: batch, within: bounds, page: nil)
        if outcomes.contains(where: \.hasWork) { self.workIsWaiting() }
        for (post, outcome) in zip(posts, outcomes) {
            guard case .stored = outcome else { continue }
            self.history.countPost()
            if let sendAt = post.notification.sendAt { self.schedule.note(sendAt) }
        }
        return outcomes
    }

    /// What the sender learns; `nil` if the notification needs another id. Throws a problem if it was refused.
    func posted(
        _ notification: NewNotification,
        _ outcome: PostOutcome,
        from sender: User
    ) throws(Problem) -> Posted? {
        switch outcome {
        case .stored(let reach, _):
            return Posted(
                id: notification.id,
                createdAt: notification.createdAt,
                expiresAt: notification.expiresAt,
                reach: reach.isComplete ? reach : nil
            )
        case .repeated(let id, let createdAt, let expiresAt, let reach):
            return Posted(id: id, createdAt: createdAt, expiresAt: expiresAt, reach: reach)
        case .keyReused: throw Problem(.idempotencyKeyReused)
        case .tooMuch(let excess): throw Problem(.tooMuchStored, self.bounds[sender.role].map(excess.detail))
        case .idTaken: return nil
        case .unknownUser(let name): throw Problem(.unknownUser, "user \(name) does not exist")
        }
    }

    private func drawID(at now: Date, besides taken: Set<NotificationID>) -> NotificationID {
        var tries = 0
        while true {
            // Hardly ever drawn twice: there are 2^16 numbers at least, one of which is no id.
            guard let id = self.ids.draw(at: now) else { continue }
            // A configuration with few ids may have no other; then the store refuses this one.
            tries += 1
            if tries == Self.tries || !taken.contains(id) { return id }
        }
    }
}

extension PostOutcome {
    fileprivate var hasWork: Bool {
        if case .stored(_, let hasWork) = self { hasWork } else { false }
    }
}
