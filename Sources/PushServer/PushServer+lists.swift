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
        var seen: (view: NotificationListView, outcome: Preconditions.Outcome)?
        let page = try self.page(query, for: user, call) { page in
            let view = self.view(of: page, query, for: user, call)
            let outcome =
                head.isConditional ? Preconditions(head).outcome(for: view.validators, now: call.now) : .proceed
            seen = (view, outcome)
            return outcome == .proceed
        }
        guard let (view, outcome) = seen else { preconditionFailure("a page is shown before its payloads are read") }
        switch outcome {
        case .failed: throw Problem(.preconditionFailed)
        case .unchanged(let tag): return view.notModified(tag)
        case .proceed:
            let response = view.full(payloads: try self.payloads(of: page), noise: self.tags.noise)
            if head.method == .get {
                let fetched = page.entries.filter { !$0.isGone && !$0.isReadOnce && !$0.isFetched }
                self.store.noteFetches(of: fetched.map(\.id), by: user.id, now: call.now)
            }
            return response
        }
    }

    private func payloads(of page: NotificationPage) throws -> [Data] {
        try page.entries.compactMap { entry in
            guard !entry.isGone, !entry.isReadOnce else { return nil }
            return try self.vault.open(entry.sealedPayload, in: .payload(entry.id, sender: entry.sender))
        }
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

    /// Never where a signature is asked for, which is one over the bytes that are sent.
    private func prefersGzip(_ head: RequestHead) -> Bool {
        guard head.count(of: .acceptEncoding) > 0, head.count(of: .acceptSignature) == 0 else { return false }
        return AcceptedCodings(head[.acceptEncoding]).prefersGzip
    }

    private func view(
        of page: NotificationPage,
        _ query: NotificationListQuery,
        for user: User,
        _ call: Call
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
            // Of what is on later pages nobody knows when it was on this one.
            changedAt: page.hasMore ? nil : max(page.changedAt, self.store.removedAt ?? self.startedAt, self.startedAt),
            prefersGzip: self.prefersGzip(call.request.head),
            maxAge: self.settings.listMaxAge,
            now: call.now
        )
    }
}
