internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Erases a read-once payload after its recipient has confirmed that the payload has arrived.
struct TakingHandler: Handler {
    let store: any NotificationStore
    let visible: VisibleNotifications
    let looks: LookBook

    var routes: [Route] {
        [
            Route(.post, "\(Paths.notifications)/{id}/taken", .atLeast(.device, .fetch)) {
                try await self.takeNotification($0)
            }
        ]
    }

    /// Confirms that a payload has arrived. A repeated request gets the same answer as the first
    /// one, whose answer may have been lost.
    private func takeNotification(_ context: RequestContext) async throws -> Response {
        let (id, app) = try await self.visible.actionable(context)
        let record = try context.record(.confirm, of: "\(id)")
        switch try await self.store.take(id, by: context.user.id, recording: record, now: context.now) {
        case .taken:
            if let app { self.looks.record(try LookOrder(context, of: app)) }
            return .noContent
        case .takenBefore: return .noContent
        case .notFetched:
            throw Problem(.nothingToConfirm, "the notification has not been fetched; GET it first")
        case .notReadOnce:
            throw Problem(.nothingToConfirm, "the notification was sent without ReadOnce and is kept until it expires")
        case .missing: throw Problem(.notFound)
        }
    }
}
