internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows the sender of a notification its recipients, with the times at which each has fetched,
/// read and dismissed it.
struct RecipientHandler: Handler {
    let reports: ReportReader
    let visible: VisibleNotifications
    /// Whether this handler serves the local admin socket, where the route has another path.
    var isLocal = false

    var routes: [Route] {
        let path = self.isLocal ? "\(LocalPaths.recipients)/{id}" : "\(Paths.notifications)/{id}/recipients"
        let access = self.isLocal ? Access.atLeast(.admin, .manage) : .atLeast(.publisher, .send, seeing: .view)
        return [Route(.get, path, access, query: ["cursor", "limit"]) { try await self.listRecipients($0) }]
    }

    /// Lists recipients in the order of their users' numbers, a page at a time. A cursor is the
    /// last number on the previous page.
    private func listRecipients(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let start = try query.start { text in Int64(text).flatMap { $0 > 0 ? $0 : nil } }
        let id = try await self.visible.reportable(context)
        // One entry more than the limit is read, which reveals whether a further page exists.
        let entries = try await self.reports.run {
            try await $0.recipients(of: id, after: start ?? 0, limit: limit + 1)
        }
        let shown = entries.prefix(limit)
        return Response(
            page: "Recipients",
            shown.map(\.json),
            cursor: (shown.last?.user ?? start).map(String.init),
            hasMore: entries.count > limit
        )
    }
}

extension RecipientEntry {
    fileprivate var json: JSONValue {
        .object([
            .init("User", self.username.map { .string($0.description) } ?? .null),
            .init("FetchedAt", self.fetchedAt.map { .string($0.rfc3339) } ?? .null),
            .init("ReadAt", self.readAt.map { .string($0.rfc3339) } ?? .null),
            .init("DismissedAt", self.dismissedAt.map { .string($0.rfc3339) } ?? .null),
        ])
    }
}
