internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Lists events: all of them for administrators and viewers, those of their own notifications for
/// publishers.
struct EventHandler: Handler {
    let reports: ReportReader
    /// Whether events are stored.
    let isOn: Bool

    var routes: [Route] {
        [
            Route(.get, Paths.events, .atLeast(.publisher, .send, seeing: .view), query: ["cursor", "since", "limit"]) {
                try await self.listEvents($0)
            }
        ]
    }

    /// Lists events, the oldest first, a page at a time; a cursor is the number of an event.
    private func listEvents(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let start: Int64? = try query.start(
            { text in Int64(text).flatMap { $0 >= 0 ? $0 : nil } },
            older: "since",
            "the number of an event"
        )
        guard self.isOn else { throw Problem(.notFound, "events are not configured; set events.keep") }
        let user = try context.user
        let sender = user.role.seesAll ? nil : user
        let page = try await self.reports.run { reader in
            try await reader.events(after: start, ofSender: sender, limit: limit)
        }
        return Response(
            uncached: .object([
                .init("Events", .array(page.events.map(\.json))),
                .init("Cursor", .string(String(page.end))),
                .init("More", .bool(page.hasMore)),
                .init("Truncated", .bool(page.isTruncated)),
            ])
        )
    }
}
