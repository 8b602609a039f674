internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Putting notifications away, and taking them back.
extension PushServer {
    static let dismissalRoutes = [
        Route(.delete, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch)) { try await $0.deleteNotification($1) }
    ]

    /// Pages of pushes that a recall cancels before it is answered; the rest is cancelled when it would be due.
    private static let pagesAtOnce = 20

    /// Its sender takes it back from everybody, a recipient puts it away, and an administrator who is neither takes it
    /// back, too.
    private func deleteNotification(_ call: Call) async throws -> Response {
        guard let id = NotificationID(call.parameter) else { throw Problem(.notFound) }
        let user = try call.user
        // A phone's token that may only fetch puts away also what its user has sent.
        let maySend = try call.token.map { $0.scopes.isSuperset(of: .send) } ?? true
        let expected = try call.request.head.isConditional ? self.expectation(id, of: user, call) : nil
        if maySend, user.role >= .publisher, try await self.recall(id, by: .sender(user.id), call) { return .noContent }
        if try await self.dismiss(id, by: user.id, ifStill: expected, call) { return .noContent }
        // It was another one meanwhile, or has gone.
        if expected != nil, try self.expectation(id, of: user, call) != nil { throw Problem(.preconditionFailed) }
        if maySend, user.role == .admin, try await self.recall(id, by: .administrator, call) { return .noContent }
        throw Problem(.notFound)
    }

    /// What the state is that the request was found to fit, if it is one that may change. Throws a `precondition-failed`
    /// problem if it does not fit; whatever cannot be deleted is not there, and that is told later.
    private func expectation(_ id: NotificationID, of user: User, _ call: Call) throws -> Store.ReadMark? {
        let preconditions = Preconditions(call.request.head)
        let reader = self.readers[call.request.loopIndex]
        let maySeeOwn = user.role >= .publisher
        guard let found = try reader.notification(id, for: user.id, alsoAsSender: maySeeOwn, now: call.now) else {
            // Who cannot collect it may still take it back, and has no representation of it.
            let sender = user.role == .admin ? nil : user.id
            if maySeeOwn, preconditions.outcome(for: nil, now: call.now) == .failed,
                try reader.isThere(id, from: sender, now: call.now)
            {
                throw Problem(.preconditionFailed)
            }
            return nil
        }
        try self.check(preconditions, against: found, id, for: user, now: call.now)
        return found.isRecipient ? found.mark : nil
    }

    private func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: Store.ReadMark?,
        _ call: Call
    ) async throws -> Bool {
        let record = try call.record(.dismiss, of: "\(id)")
        return try await self.store.dismiss(id, by: user, ifStill: mark, noting: record, now: call.now)
    }

    private func recall(_ id: NotificationID, by recaller: Store.Recaller, _ call: Call) async throws -> Bool {
        let record = try call.record(.recall, of: "\(id)")
        guard try await self.store.recall(id, by: recaller, noting: record, now: call.now) else { return false }
        var last: Int64? = 0
        for _ in 0..<Self.pagesAtOnce {
            guard let device = last else { break }
            last = try await self.store.cancelRecalled(id, after: device, now: call.now)
        }
        return true
    }
}
