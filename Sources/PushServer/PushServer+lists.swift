internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Many notifications at once: all that a device has missed, in one round trip.
extension PushServer {
    static let listRoutes = [
        Route(.get, Paths.notifications, .atLeast(.device, .fetch)) { try $0.listNotifications($1) }
    ]

    private func listNotifications(_ call: Call) throws -> Response {
        let user = try call.user
        let query = try NotificationListQuery(Query(call.request.head.query))
        let head = call.request.head
        var made: NotificationListView?
        let page = try self.page(query, for: user, call) { page in
            let view = self.view(of: page, query, for: user, now: call.now)
            made = view
            return !view.isUnchanged(for: head)
        }
        guard let view = made else { throw Problem(.internalError) }
        if view.isUnchanged(for: head) { return view.notModified }
        let payloads = try page.entries.compactMap { entry -> Data? in
            guard !entry.isGone, !entry.isReadOnce else { return nil }
            return try self.vault.open(entry.sealedPayload, in: .payload(entry.id, sender: entry.sender))
        }
        return view.full(payloads: payloads)
    }

    private func page(
        _ query: NotificationListQuery,
        for user: User,
        _ call: Call,
        needsPayloads: (NotificationPage) -> Bool
    ) throws -> NotificationPage {
        let reader = self.readers[call.request.loopIndex]
        switch query {
        case .ids(let ids):
            return try reader.notifications(ids, for: user.id, now: call.now, needsPayloads: needsPayloads)
        case .changes(let cursor, let limit, let isUnreadOnly):
            let list = CursorMaker.List(user: user.id, isUnreadOnly: isUnreadOnly)
            let start = try cursor.map { try self.change(at: $0, of: list) }
            let range = ChangeRange(after: start, limit: limit, isUnreadOnly: isUnreadOnly)
            return try reader.notifications(range, for: user.id, now: call.now, needsPayloads: needsPayloads)
        }
    }

    /// Throws an `invalid-cursor` problem for one that was not given out with that list.
    private func change(at cursor: String, of list: CursorMaker.List) throws(Problem) -> Int64 {
        guard let change = self.cursors.change(at: cursor, of: list), change <= self.store.newestChange else {
            throw Problem(.invalidCursor, "begin anew without since")
        }
        return change
    }

    private func view(
        of page: NotificationPage,
        _ query: NotificationListQuery,
        for user: User,
        now: Date
    ) -> NotificationListView {
        var (cursor, start): (String?, String?)
        if case .changes(let since, _, let isUnreadOnly) = query {
            let list = CursorMaker.List(user: user.id, isUnreadOnly: isUnreadOnly)
            (cursor, start) = (self.cursors.cursor(at: page.end, of: list), since)
        }
        // Nothing new: whoever has come to a cursor has its own validator for that.
        let isEmpty = page.entries.isEmpty && !page.hasMore && cursor != nil && cursor == start
        return NotificationListView(
            page: page,
            cursor: cursor,
            tag: isEmpty
                ? EntityTag(description: "\"\(cursor ?? "")\"")
                : self.tags.tag(of: page, cursor: cursor, for: user.id),
            maxAge: self.settings.listMaxAge,
            now: now
        )
    }
}
