internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Cancels a single push, or makes the delivery send it at once. The notification's sender and
/// administrators may request that.
struct SinglePushHandler: Handler {
    private static let path = "\(Paths.notifications)/{id}/deliveries/{device}"

    let store: any OutboxStore
    let visible: VisibleNotifications
    let workIsWaiting: WakeUp

    var routes: [Route] {
        [
            Route(.delete, Self.path, .atLeast(.publisher, .send)) { try await self.change(.cancel, $0) },
            Route(.post, Self.path, .atLeast(.publisher, .send)) { try await self.change(.hasten, $0) },
        ]
    }

    private func change(_ change: PushChange, _ context: RequestContext) async throws -> Response {
        let user = try context.user
        let id = try await self.visible.actionable(context).id
        guard let device = RegistrationID(Route.lastSegment(of: context.request.head.path)) else {
            throw Problem(.notFound)
        }
        let outcome = try await self.store.change(
            SinglePush(notification: id, device: device, sender: user.role == .admin ? nil : user.id),
            change,
            by: context.record(
                change == .cancel ? .cancelPush : .retryPush,
                of: "\(id)",
                detail: "device \(device)"
            ),
            now: context.now
        )
        switch outcome {
        case .done:
            if change == .hasten { self.workIsWaiting() }
            return .noContent
        case .unchanged: return .noContent
        case .missing: throw Problem(.notFound)
        case .ended: throw Problem(.pushNotWaiting, "the push has ended; post a new notification to send again")
        case .parked: throw Problem(.pushNotWaiting, "the push waits until its device opens an event stream")
        }
    }
}
