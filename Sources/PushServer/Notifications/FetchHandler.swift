internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Returns the payload of one notification for each request. The handler is a class, because a
/// broadcast makes every phone send such a request. If it were a struct, each request would change
/// the reference counts of all its members.
final class FetchHandler: Handler {
    private let store: any NotificationStore
    private let visible: VisibleNotifications
    private let bodies: BodyCache
    private let history: StatusHistory

    init(
        store: any NotificationStore,
        visible: VisibleNotifications,
        bodies: BodyCache,
        history: StatusHistory
    ) {
        self.store = store
        self.visible = visible
        self.bodies = bodies
        self.history = history
    }

    var routes: [Route] {
        [Route(.get, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch), query: ["key"], reply: self.fetch)]
    }

    /// Reads the notification as the store does: immediately, or in a group with other fetches.
    private func fetch(_ context: RequestContext) throws -> Reply {
        let id = try self.visible.id(in: context)
        let caller = try context.known
        let sends = caller.user.role.includes(.publisher)
        let fetch = NotificationFetch(id, for: caller.user.id, alsoAsSender: sends, now: context.now)
        switch context.reader.fetchReader {
        case .immediate(let reader): return try self.answer(id, reader.notification(fetch), context)
        case .grouped(let reader):
            let pending = reader.pendingNotification(fetch)
            return .wait({ pending.begin(resume: $0) }) {
                if pending.isFinished { return try self.answer(id, pending.result(), context) }
                return .later {
                    await pending.finish()
                    return try await self.answer(id, pending.result(), context).response
                }
            }
        }
    }

    /// The answer with a notification. Throws a `not-found` problem if the notification is missing
    /// or the user may not see it. It is inlined, so that no optional notification is copied.
    @inline(__always)
    private func answer(
        _ id: NotificationID,
        _ found: consuming StoredNotification?,
        _ context: RequestContext
    ) throws -> Reply {
        let caller = try context.known
        guard let found = consume found, caller.user.mayUse(found.app) else { throw Problem(.notFound) }
        if found.isReadOnce { return .later { try await self.lease(id, found, to: caller.user, context) } }
        return .now(try self.show(id, found, to: caller, context))
    }

    /// The answer with a payload that may be fetched again.
    private func show(
        _ id: NotificationID,
        _ found: consuming StoredNotification,
        to caller: Caller,
        _ context: RequestContext
    ) throws -> Response {
        let view = try self.visible.view(of: id, found, for: context)
        let isUnchanged = try context.request.head.isConditional && self.isUnchanged(view, for: context)
        let response: Response
        if isUnchanged {
            response = view.notModified
        } else {
            let loop = context.request.loopIndex
            let body = try self.bodies.body(of: id, view.notification, on: loop) { () throws(VaultError) in
                try view.body(openedBy: self.visible.vault)
            }
            response = view.full(body)
            self.history.countFetch()
        }
        if view.notification.isRecipient, view.notification.fetchedAt == nil, context.request.head.method == .get {
            self.store.recordFetches(of: [id], by: caller.user.id, now: context.now)
        }
        return response
    }

    /// Whether the client already has this state of the notification. Throws a
    /// `precondition-failed` problem if the request requires another state.
    @inline(never)
    private func isUnchanged(
        _ view: borrowing NotificationView,
        for context: RequestContext
    ) throws(Problem) -> Bool {
        switch Preconditions(context.request.head).outcome(for: view.validators, now: context.now) {
        case .proceed: return false
        case .unchanged: return true
        case .failed: throw Problem(.preconditionFailed)
        }
    }

    /// The answer with a read-once payload, which is leased to the user: if an answer is lost, the
    /// server returns the payload again until the lease ends. Two kinds of requests begin no
    /// lease: `HEAD`, and a request of a device whose wrapped key is missing in an end-to-end
    /// payload.
    private func lease(
        _ id: NotificationID,
        _ found: StoredNotification,
        to user: User,
        _ context: RequestContext
    ) async throws -> Response {
        let view = try self.visible.view(of: id, found, for: context)
        // No client may cache a read-once payload, but a precondition of the request may still
        // require a certain state.
        if context.request.head.isConditional { _ = try self.isUnchanged(view, for: context) }
        // The payload is decrypted before the lease, so that a payload that cannot be decrypted is
        // leased to nobody.
        let body = try view.body(openedBy: self.visible.vault)
        let response = view.full(body)
        // If this device cannot decrypt the payload, no lease begins, because another device of
        // the user may be able to.
        guard view.isReadable(body) else { return response }
        if context.request.head.method == .get, found.leasedUntil == nil {
            // The lease is stored before the answer. Without a stored lease, nothing would erase
            // the payload after a crash.
            let lease = try await self.store.lease(
                id,
                to: user.id,
                until: context.now + PayloadLease.length.timeInterval,
                recording: try context.record(.take, of: "\(id)"),
                now: context.now
            )
            guard lease != .refused else { throw Problem(.notFound) }
        }
        self.history.countFetch()
        return response
    }
}
