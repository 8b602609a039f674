internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Lists events. Administrators see all events, viewers see the events of their apps, and
/// publishers see the events of notifications that they have sent.
struct EventHandler: Handler {
    let reports: ReportReader
    /// Whether events are stored.
    let isOn: Bool
    let scope: AppScope

    var routes: [Route] {
        [
            Route(.get, Paths.events, .atLeast(.publisher, .send, seeing: .view), query: ["cursor", "since", "limit"]) {
                try await self.listEvents($0)
            }
        ]
    }

    /// Lists events, the oldest first, a page at a time; a cursor is the number of the last event
    /// of the page before.
    private func listEvents(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let user = try context.user
        let sender = user.role.seesAll ? nil : user
        let apps = sender == nil ? self.scope.limit(of: user) : nil
        let start: Int64? = try query.start(
            { self.scope.text(ofCursor: $0, within: apps).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil } },
            older: "since",
            AppScope.rule(ofCursor: "the number of an event", within: apps)
        )
        guard self.isOn else { throw Problem(.notFound, "events are not configured; set events.keep") }
        let now = context.now
        let (page, shown) = try await self.reports.run { reader in
            let page = try await reader.events(after: start, ofSender: sender, limit: limit)
            guard let apps else { return (page, page.events) }
            return (page, try await Self.events(page.events, of: apps, reader, now: now))
        }
        return Response(
            uncached: .object([
                .init("Events", .array(shown.map(\.json))),
                .init("Cursor", try self.scope.cursor(String(page.end), within: apps).map { .string($0) } ?? .null),
                .init("More", .bool(page.hasMore)),
                .init("Truncated", .bool(page.isTruncated)),
            ])
        )
    }

    /// Selects the events about `apps`: about their pushes, their devices, and fetches of their
    /// notifications.
    private static func events(
        _ events: [PushEvent],
        of apps: Set<AppName>,
        _ reader: any StoreReader,
        now: Date
    ) async throws -> [PushEvent] {
        let fetched = events.compactMap { $0.platform == nil ? $0.notification : nil }
        let known = try await reader.apps(of: fetched, now: now)
        return events.filter { event in
            let app = event.platform.map { Platform(stored: $0).app } ?? event.notification.flatMap { known[$0] }
            return app.map(apps.contains) ?? false
        }
    }
}
