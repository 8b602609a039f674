internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Marking notifications as read. What is done here is not in the audit, as fetches are not.
extension PushServer {
    static let readingRoutes = [
        Route(.patch, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch)) { try await $0.markNotification($1) },
        Route(.post, Paths.readNotifications, .atLeast(.device, .fetch)) { try await $0.markNotifications($1) },
    ]

    private func markNotification(_ call: Call) async throws -> Response {
        let body = try JSONBody(try await call.request.body.collect())
        guard let isRead = try body.bool("Read") else { throw Problem(.invalidMember, "Read is missing") }
        let user = try call.user
        let (id, found) = try self.find(call, for: user)
        guard found.isRecipient else { throw Problem(.forbidden, "only its recipients mark it as read") }
        var expected: Store.ReadMark?
        if call.request.head.isConditional {
            try self.check(Preconditions(call.request.head), against: found, id, for: user, now: call.now)
            expected = found.mark
        }
        switch try await self.store.mark(
            id,
            as: isRead ? .read : .unread,
            by: user.id,
            ifStill: expected,
            now: call.now
        )
        {
        case .marked: return try self.item(call, for: user)
        case .missing: throw Problem(.notFound)
        case .changed: throw Problem(.preconditionFailed)
        }
    }

    /// As `GET` shows it now, but nothing is taken with that.
    private func item(_ call: Call, for user: User) throws -> Response {
        let (id, found) = try self.find(call, for: user)
        let view = self.view(of: id, found, for: user, now: call.now)
        if found.isReadOnce { return view.withoutPayload }
        return view.full(payload: try self.vault.open(found.sealedPayload, in: .payload(id, sender: found.sender)))
    }

    private func markNotifications(_ call: Call) async throws -> Response {
        let body = try JSONBody(try await call.request.body.collect())
        guard let numbers = try body.integers("Ids") else { throw Problem(.invalidMember, "Ids is missing") }
        guard (1...NotificationListQuery.maximumIDs).contains(numbers.count) else {
            throw Problem(.invalidMember, "Ids must be 1 to \(NotificationListQuery.maximumIDs) ids")
        }
        let ids = numbers.compactMap { NotificationID(rawValue: Int64($0)) }
        guard ids.count == numbers.count else { throw Problem(.invalidMember, "Ids must be the ids of notifications") }
        let read = try await self.store.markRead(ids, by: call.user.id, now: call.now)
        return Response(uncached: .object([.init("Read", .array(read.map { .number($0.rawValue) }))]))
    }

    /// Throws a `precondition-failed` problem if a request that changes something expects another state.
    func check(
        _ preconditions: Preconditions,
        against found: StoredNotification,
        _ id: NotificationID,
        for user: User,
        now: Date
    ) throws(Problem) {
        let view = self.view(of: id, found, for: user, now: now)
        guard preconditions.outcome(for: view.validators, now: now) == .proceed else {
            throw Problem(.preconditionFailed)
        }
    }
}

extension StoredNotification {
    var mark: Store.ReadMark { self.readAt == nil ? .unread : .read }
}
