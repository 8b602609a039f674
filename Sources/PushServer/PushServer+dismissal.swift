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
        if maySend, user.role >= .publisher, try await self.recall(id, by: .sender(user.id), call) { return .noContent }
        if try await self.dismiss(id, by: user.id, call) { return .noContent }
        if maySend, user.role == .admin, try await self.recall(id, by: .administrator, call) { return .noContent }
        throw Problem(.notFound)
    }

    private func dismiss(_ id: NotificationID, by user: Int64, _ call: Call) async throws -> Bool {
        try await self.store.dismiss(id, by: user, noting: call.record(.dismiss, of: "\(id)"), now: call.now)
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
