internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Dismisses notifications for their recipients and recalls them for their senders.
struct DeletionHandler: Handler {
    let store: any NotificationStore
    let visible: VisibleNotifications

    var routes: [Route] {
        [
            Route(.delete, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch)) {
                try await self.deleteNotification($0)
            }
        ]
    }

    /// Pages of pushes that a recall cancels before it is answered; the rest is cancelled when it would be due.
    private static let pagesAtOnce = 20

    /// Its sender recalls it from everybody, a recipient dismisses it, and an administrator who is neither recalls it, too.
    private func deleteNotification(_ context: RequestContext) async throws -> Response {
        guard let id = NotificationID(context.parameter) else { throw Problem(.notFound) }
        let user = try context.user
        // A phone's token that may only fetch also dismisses what its user has sent.
        let maySend = try context.token.map { $0.scopes.isSuperset(of: .send) } ?? true
        let expected = try context.request.head.isConditional ? await self.expectation(id, of: user, context) : nil
        if maySend, user.role >= .publisher, try await self.recall(id, by: .sender(user.id), context) {
            return .noContent
        }
        if try await self.dismiss(id, by: user.id, ifStill: expected, context) { return .noContent }
        // It was another one meanwhile, or has gone.
        if expected != nil, try await self.expectation(id, of: user, context) != nil {
            throw Problem(.preconditionFailed)
        }
        if maySend, user.role == .admin, try await self.recall(id, by: .administrator, context) { return .noContent }
        throw Problem(.notFound)
    }

    /// What the state is that the request was found to fit, if it is one that may change. Throws a `precondition-failed`
    /// problem if it does not fit; whatever cannot be deleted is not there, and that is told later.
    private func expectation(
        _ id: NotificationID,
        of user: User,
        _ context: RequestContext
    ) async throws -> ReadMark? {
        let preconditions = Preconditions(context.request.head)
        let reader = context.reader
        let maySeeOwn = user.role >= .publisher
        let found = try await reader.notification(id, for: user.id, alsoAsSender: maySeeOwn, now: context.now)
        guard let found else {
            // Who cannot collect it may still recall it, and has no representation of it.
            let sender = user.role == .admin ? nil : user.id
            if maySeeOwn, preconditions.outcome(for: nil, now: context.now) == .failed,
                try await reader.isThere(id, from: sender, now: context.now)
            {
                throw Problem(.preconditionFailed)
            }
            return nil
        }
        try self.visible.check(preconditions, against: found, id, for: user, now: context.now)
        return found.isRecipient ? found.mark : nil
    }

    private func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        _ context: RequestContext
    ) async throws -> Bool {
        let record = try context.record(.dismiss, of: "\(id)")
        return try await self.store.dismiss(id, by: user, ifStill: mark, noting: record, now: context.now)
    }

    private func recall(_ id: NotificationID, by recaller: Recaller, _ context: RequestContext) async throws
        -> Bool
    {
        let record = try context.record(.recall, of: "\(id)")
        guard try await self.store.recall(id, by: recaller, noting: record, now: context.now) else { return false }
        var last: Int64? = 0
        for _ in 0..<Self.pagesAtOnce {
            guard let device = last else { break }
            last = try await self.store.cancelRecalled(id, after: device, now: context.now)
        }
        return true
    }
}
