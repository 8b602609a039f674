internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Dismisses notifications for their recipients and recalls them for their senders.
struct DeletionHandler: Handler {
    let store: any NotificationStore
    let visible: VisibleNotifications
    let bodies: BodyCache
    let looks: LookBook

    var routes: [Route] {
        [
            // The parameter `key`, the id of a device key, is part of the entity tag with which
            // `If-Match` is compared.
            Route(.delete, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch), query: ["key"]) {
                try await self.deleteNotification($0)
            }
        ]
    }

    /// The number of pages of pushes that a recall cancels before its answer; a push on a later
    /// page is cancelled when it becomes due.
    private static let pagesAtOnce = 20

    /// The effect of a `DELETE`. It depends on whether the user is the sender or a recipient of
    /// the notification.
    enum Deletion: Hashable {
        case recallAsSender
        /// Recalls the notification only as long as it is scheduled. A sender of any role may do
        /// that.
        case cancelAsSender
        case dismiss
        case recallAsAdministrator

        /// The effects that a user's `DELETE` of a notification can have, in the order in which
        /// they are tried. The first effect that is possible determines the answer.
        ///
        /// `maySend` is `false` for a token without the scope `send`: with a phone's token that
        /// may only fetch, a `DELETE` dismisses even a notification that its user has sent.
        static func candidates(for role: Role, maySend: Bool) -> [Deletion] {
            switch role {
            case .admin where maySend: [.recallAsSender, .dismiss, .recallAsAdministrator]
            case .publisher where maySend: [.recallAsSender, .dismiss]
            case .device where maySend, .viewer where maySend: [.dismiss, .cancelAsSender]
            case .admin, .publisher, .viewer, .device: [.dismiss]
            }
        }
    }

    private func deleteNotification(_ context: RequestContext) async throws -> Response {
        let (id, app) = try await self.visible.actionable(context)
        let user = try context.user
        let maySend = try context.scopes?.isSuperset(of: .send) ?? true
        let expected = try context.request.head.isConditional ? await self.expectation(id, of: user, context) : nil
        for deletion in Deletion.candidates(for: user.role, maySend: maySend) {
            let isDone =
                switch deletion {
                case .recallAsSender: try await self.recall(id, by: .sender(user.id), context)
                case .cancelAsSender: try await self.recall(id, by: .scheduler(user.id), context)
                case .dismiss: try await self.dismiss(id, of: app, by: user, ifStill: expected, context)
                case .recallAsAdministrator: try await self.recall(id, by: .administrator, context)
                }
            if isDone { return .noContent }
        }
        throw Problem(.notFound)
    }

    /// Whether the user has read the notification (`ReadMark`), if the user is a recipient;
    /// otherwise `nil`.
    ///
    /// Throws a `precondition-failed` problem if the request's preconditions do not hold for the
    /// notification's present state. If the user cannot delete the notification, the caller of
    /// this function reports it as not found.
    private func expectation(
        _ id: NotificationID,
        of user: User,
        _ context: RequestContext
    ) async throws -> ReadMark? {
        let preconditions = Preconditions(context.request.head)
        let reader = context.reader
        let maySeeOwn = user.role.includes(.publisher)
        let fetch = NotificationFetch(id, for: user.id, alsoAsSender: maySeeOwn, now: context.now)
        guard let found = try await reader.notification(fetch) else {
            // A user who cannot fetch the notification may still recall it. For this user the
            // notification has no entity tag, so `If-Match` never holds.
            let sender = user.role == .admin ? nil : user.id
            if maySeeOwn, preconditions.outcome(for: nil, now: context.now) == .failed,
                try await reader.isThere(id, from: sender, now: context.now)
            {
                throw Problem(.preconditionFailed)
            }
            return nil
        }
        try self.visible.check(preconditions, against: found, id, for: context)
        return found.isRecipient ? found.mark : nil
    }

    /// Throws a `precondition-failed` problem if the notification exists and its read mark is not
    /// `mark`.
    private func dismiss(
        _ id: NotificationID,
        of app: AppName?,
        by user: User,
        ifStill mark: ReadMark?,
        _ context: RequestContext
    ) async throws -> Bool {
        let record = try context.record(.dismiss, of: "\(id)")
        if try await self.store.dismiss(id, by: user.id, ifStill: mark, recording: record, now: context.now) {
            if let app { self.looks.record(try LookOrder(context, of: app)) }
            return true
        }
        // Either the read mark changed after `expectation` read it, or the notification is gone.
        if mark != nil, try await self.expectation(id, of: user, context) != nil {
            throw Problem(.preconditionFailed)
        }
        return false
    }

    private func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        _ context: RequestContext
    ) async throws -> Bool {
        let record = try context.record(.recall, of: "\(id)")
        let now = context.now
        let isRecalled = try await self.store.recall(id, by: recaller, recording: record, page: nil, now: now)
        guard isRecalled else { return false }
        self.bodies.evict(id)
        self.looks.signal.set()
        var last: Int64? = 0
        for _ in 0..<Self.pagesAtOnce {
            guard let device = last else { break }
            last = try await self.store.cancelRecalled(id, after: device, page: nil, now: now)
        }
        return true
    }
}
