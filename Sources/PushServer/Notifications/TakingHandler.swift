internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Hears from recipients that a payload that may be read once has arrived, and erases it.
struct TakingHandler: Handler {
    let store: any NotificationStore
    let visible: VisibleNotifications

    var routes: [Route] {
        [
            Route(.post, "\(Paths.notifications)/{id}/taken", .atLeast(.device, .fetch)) {
                try await self.takeNotification($0)
            }
        ]
    }

    /// Answers a repeated request as the first one, whose answer may have been lost.
    private func takeNotification(_ context: RequestContext) async throws -> Response {
        let id = try await self.visible.actionable(context)
        let record = try context.record(.confirm, of: "\(id)")
        switch try await self.store.take(id, by: context.user.id, noting: record, now: context.now) {
        case .taken, .takenBefore: return .noContent
        case .notFetched:
            throw Problem(.nothingToConfirm, "the notification has not been fetched; GET it first")
        case .notReadOnce:
            throw Problem(.nothingToConfirm, "the notification was sent without ReadOnce and is kept until it expires")
        case .missing: throw Problem(.notFound)
        }
    }
}
