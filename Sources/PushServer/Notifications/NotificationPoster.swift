internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Seals and stores notifications, with the work of pushing them.
struct NotificationPoster: Sendable {
    let store: any NotificationStore & KeyStore
    let collapseIDs: CollapseIDs
    let ids: NotificationIDs
    /// How much users of a role may have stored at a time.
    let bounds: [Role: StorageBounds]
    /// Tells the delivery that there is work.
    let workIsWaiting: @Sendable () -> Void

    /// What the sender learns of a stored notification.
    struct Posted {
        let id: NotificationID
        let createdAt: Date
        let expiresAt: Date
        /// `nil` as long as it is not known, while a broadcast reaches its devices.
        let reach: Reach?
    }

    /// Stores the notification of an order, or returns the result of the same request (`once`) from before. Throws a
    /// problem if a recipient is unknown or the sender has stored too much.
    func post(
        _ order: NotificationOrder,
        payload: [UInt8],
        of context: RequestContext,
        once request: IdempotentRequest? = nil,
        record: (NotificationID) throws -> AuditRecord
    ) async throws -> Posted {
        let (sender, now) = (try context.user, context.now)
        let bounds = self.bounds[sender.role]
        // Random ids of 31 bits do collide; the tries are bounded only so that a full table ends in an error.
        for _ in 0..<100 {
            guard let id = self.ids.draw(at: now) else { continue }
            let notification = NewNotification(
                id: id,
                sender: sender.id,
                sealedPayload: try self.store.vault.seal(payload, in: .payload(id, sender: sender.id)),
                sealedAlert: try order.alert.map {
                    try self.store.vault.seal(JSONEncoder().encode($0.alert), in: .alert(id, sender: sender.id))
                },
                audience: order.audience,
                isStoredByClients: order.isStoredByClients,
                isReadOnce: order.isReadOnce,
                priority: order.priority,
                collapseID: order.collapseKey.map { self.collapseIDs.id(of: $0, from: sender.id) },
                createdAt: now,
                expiresAt: now + TimeInterval(order.lifetime.components.seconds)
            )
            switch try await self.store.post(notification, once: request, by: record(id), within: bounds) {
            case .stored(let reach, let hasWork):
                if hasWork { self.workIsWaiting() }
                return Posted(
                    id: id,
                    createdAt: now,
                    expiresAt: notification.expiresAt,
                    reach: reach.isComplete ? reach : nil
                )
            case .repeated(let id, let createdAt, let expiresAt, let reach):
                return Posted(id: id, createdAt: createdAt, expiresAt: expiresAt, reach: reach)
            case .keyReused: throw Problem(.idempotencyKeyReused)
            case .tooMuch(let excess): throw Problem(.tooMuchStored, bounds.map(excess.detail))
            case .idTaken: continue
            case .unknownUser(let name): throw Problem(.unknownUser, "user \(name) does not exist")
            }
        }
        throw Problem(.busy, "no free notification id was found; try again")
    }
}
