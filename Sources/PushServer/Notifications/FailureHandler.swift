internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the failed pushes of all notifications. The list has no looks (pushes that
/// tell a device to sync), as they belong to no notification.
struct FailureHandler: Handler {
    let reports: ReportReader
    private let scope: AppScope
    /// The largest number of failed pushes that one request compares with a filter.
    private let maximumExamined: Int

    init(reports: ReportReader, scope: AppScope, maximumExamined: Int = ListScanLimits.maximumSearched) {
        self.reports = reports
        self.scope = scope
        self.maximumExamined = maximumExamined
    }

    var routes: [Route] {
        [
            Route(
                .get,
                Paths.deliveries,
                .atLeast(.admin, .manage, seeing: .view),
                query: ["state", "since", "app", "user", "cursor", "limit"]
            ) { try await self.listFailures($0) }
        ]
    }

    /// Lists failed pushes, the newest first, a page at a time. Throws a `not-found` problem for a
    /// user or an app that the caller does not see.
    private func listFailures(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        guard ["failed", nil].contains(try query["state"]) else {
            throw Problem(.invalidParameter, "state must be failed; each notification lists its pushes in other states")
        }
        let limit = try query.limit
        let since = try query.beginning("since", now: context.now) ?? .distantPast
        let apps = self.scope.limit(of: try context.user)
        let filter = try FailureFilter(query, within: apps)
        let start = try query.start { self.scope.text(ofCursor: $0, within: apps).flatMap(FailurePlace.init(cursor:)) }
        try await self.scope.check(user: filter.user, app: filter.app, within: apps, context.reader)
        var scan = ListScan<FailedPush, FailurePlace>(
            after: start,
            limit: limit,
            // Without a filter, every push that is read is in the list, except looks. So one step
            // usually suffices.
            step: filter.passesAll ? limit : ListScanLimits.step,
            maximumSearched: self.maximumExamined,
            place: \.place,
            where: filter.passes
        )
        try await scan.run { last, count in
            try await self.reports.run { try await $0.failedPushes(since: since, before: last, limit: count) }
        }
        return Response(
            page: "Deliveries",
            scan.found.map(\.json),
            cursor: try self.scope.cursor(scan.last?.cursor, within: apps),
            hasMore: scan.hasMore
        )
    }
}

/// Decides which failed pushes a list shows.
private struct FailureFilter: Sendable {
    let app: AppName?
    let user: Username?
    /// The apps whose pushes the list may show; `nil` for all apps.
    private let apps: Set<AppName>?

    init(_ query: Query, within apps: Set<AppName>?) throws(Problem) {
        self.apps = apps
        self.app = try Self.value(of: "app", in: query, "the name of an app", AppName.init)
        self.user = try Self.value(of: "user", in: query, "a user name", Username.init)
    }

    var passesAll: Bool { self.app == nil && self.user == nil && self.apps == nil }

    func passes(_ push: FailedPush) -> Bool {
        if push.delivery.lane.isOfLooks { return false }
        if let apps, !apps.contains(push.delivery.platform.app) { return false }
        if let app, push.delivery.platform.app != app { return false }
        if let user, push.delivery.username != user { return false }
        return true
    }

    private static func value<Value>(
        of name: String,
        in query: Query,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = try query[name] else { return nil }
        guard let value = read(text) else { throw Problem(.invalidParameter, "\(name) must be \(rule)") }
        return value
    }
}

extension FailurePlace {
    /// Reads a cursor: milliseconds since 1970, the notification's id and the device's internal
    /// number, with dots in between.
    fileprivate init?(cursor: String) {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
        // Milliseconds below 2^53 are exact in a `Date`.
        guard
            parts.count == 3, let time = parts[0], time.magnitude < 1 << 53, let notification = parts[1],
            let device = parts[2], notification > 0, device > 0
        else { return nil }
        self.init(at: Date(milliseconds: time), notification: notification, device: device)
    }

    fileprivate var cursor: String { "\(self.at.milliseconds).\(self.notification).\(self.device)" }
}

extension FailedPush {
    fileprivate var json: JSONValue {
        .object([.init("Notification", .number(self.notification.rawValue))] + self.delivery.members)
    }
}
