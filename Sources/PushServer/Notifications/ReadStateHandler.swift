internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Marks notifications as read. The audit records neither read marks nor fetches.
struct ReadStateHandler: Handler {
    let store: any NotificationStore
    let visible: VisibleNotifications
    let looks: LookBook

    var routes: [Route] {
        [
            Route(.patch, "\(Paths.notifications)/{id}", .atLeast(.device, .fetch), query: ["key"], body: ["Read"]) {
                try await self.markNotification($0)
            },
            Route(.post, Paths.readNotifications, .atLeast(.device, .fetch), body: ["Ids"]) {
                try await self.markNotifications($0)
            },
        ]
    }

    private func markNotification(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        guard let isRead = try body.bool("Read") else { throw Problem(.invalidMember, "Read is missing") }
        let user = try context.user
        let (id, found) = try await self.visible.find(context, for: user)
        guard found.isRecipient else { throw Problem(.forbidden, "only a recipient can mark the notification as read") }
        var expected: ReadMark?
        if context.request.head.isConditional {
            let preconditions = Preconditions(context.request.head)
            try self.visible.check(preconditions, against: found, id, for: context)
            expected = found.mark
        }
        switch try await self.store.mark(
            id,
            as: isRead ? .read : .unread,
            by: user.id,
            ifStill: expected,
            now: context.now
        )
        {
        case .marked:
            if found.mark != (isRead ? .read : .unread) { self.looks.record(try LookOrder(context, of: found.app)) }
            return try await self.item(context, for: user)
        case .missing: throw Problem(.notFound)
        case .changed: throw Problem(.preconditionFailed)
        }
    }

    /// The notification as `GET` would show it now, but without fetching a read-once payload.
    private func item(_ context: RequestContext, for user: User) async throws -> Response {
        let (id, found) = try await self.visible.find(context, for: user)
        let view = try self.visible.view(of: id, found, for: context)
        if found.isReadOnce { return view.withoutPayload }
        return view.full(try view.body(openedBy: self.visible.vault))
    }

    private func markNotifications(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        guard let numbers = try body.integers("Ids") else { throw Problem(.invalidMember, "Ids is missing") }
        guard (1...NotificationListQuery.maximumIDs).contains(numbers.count) else {
            throw Problem(.invalidMember, "Ids must have 1 to \(NotificationListQuery.maximumIDs) elements")
        }
        let ids = numbers.compactMap { NotificationID(rawValue: Int64($0)) }
        guard ids.count == numbers.count else { throw Problem(.invalidMember, "Ids must be notification ids") }
        let (read, changedApps) = try await self.store.markRead(ids, by: context.user, now: context.now)
        for app in changedApps { self.looks.record(try LookOrder(context, of: app)) }
        return Response(uncached: .object([.init("Read", .array(read.map { .number($0.rawValue) }))]))
    }
}

extension LookOrder {
    /// Orders silent pushes (looks) that make the user's other devices fetch the caller's change
    /// to notifications of this app.
    init(_ context: RequestContext, of app: AppName) throws {
        self.init(user: try context.user.id, app: app, session: try context.token?.prefix.description)
    }
}

extension StoredNotification {
    var mark: ReadMark { self.readAt == nil ? .unread : .read }
}
