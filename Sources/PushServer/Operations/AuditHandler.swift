internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the audit log.
struct AuditHandler: Handler {
    let reports: ReportReader
    let scope: AppScope

    var routes: [Route] {
        [
            Route(
                .get,
                Paths.audit,
                .atLeast(.admin, .manage, seeing: .view),
                query: ["cursor", "before", "limit", "words", "action", "user", "since"]
            ) {
                try await self.listAudit($0)
            }
        ]
    }

    /// Lists audit entries, the newest first, a page at a time; a cursor is the number of the last
    /// entry on the page before.
    private func listAudit(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let apps = self.scope.limit(of: try context.user)
        let before = try query.start(
            { self.scope.text(ofCursor: $0, within: apps).flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } },
            older: "before",
            AppScope.rule(ofCursor: "the number of an audit entry", within: apps)
        )
        if let filter = try AuditFilter(query, now: context.now) {
            return try await self.searchAudit(filter.scan(before: before, limit: limit), within: apps)
        }
        if apps != nil {
            let all = ListScan<AuditEntry, Int64>(
                after: before,
                limit: limit,
                place: \.number,
                size: \.subject.utf8.count,
                where: { _ in true }
            )
            return try await self.searchAudit(all, within: apps)
        }
        // One entry more than the limit is read, which reveals whether a further page exists.
        let entries = try await self.reports.run { try await $0.auditEntries(before: before, limit: limit + 1) }
        let shown = entries.prefix(limit)
        return Response(
            page: "Entries",
            shown.map(\.json),
            cursor: (shown.last?.number ?? before).map(String.init),
            hasMore: entries.count > limit
        )
    }

    /// The entries that a search finds. Entries are read in small parts, so that reads of other
    /// reports run in between.
    private func searchAudit(
        _ search: ListScan<AuditEntry, Int64>,
        within apps: Set<AppName>?
    ) async throws -> Response {
        var scan = search
        try await scan.run { last, count in
            try await self.reports.run { try await $0.auditEntries(before: last, limit: count) }
        }
        var shown = scan.found
        if let apps {
            shown = try await self.reports.run { [shown] in try await Self.entries(shown, of: apps, $0) }
        }
        return Response(
            uncached: .object([
                .init("Entries", .array(shown.map(\.json))),
                .init("Searched", .number(scan.searched)),
                .init(
                    "Cursor",
                    try self.scope.cursor(scan.last.map(String.init), within: apps).map { .string($0) } ?? .null
                ),
                .init("More", .bool(scan.hasMore)),
            ])
        )
    }

    /// The entries about users whose apps are all in `apps`. All other entries may concern another
    /// app: actions of a user who also belongs to another app, an administrator's actions that
    /// name no user, and entries that are older than the user. These concern an earlier user of
    /// the name.
    private static func entries(
        _ entries: [AuditEntry],
        of apps: Set<AppName>,
        _ reader: any StoreReader
    ) async throws -> [AuditEntry] {
        var beginnings: [String: Date] = [:]
        for entry in entries where beginnings[entry.person] == nil {
            var user: UserEntry?
            if let name = Username(entry.person) { user = try await reader.userEntry(named: name) }
            let isSeen = user.map { $0.role != .admin && $0.apps.isSubset(of: apps) } ?? false
            beginnings[entry.person] = isSeen ? user?.createdAt : .distantFuture
        }
        return entries.filter { entry in beginnings[entry.person].map { entry.at >= $0 } ?? false }
    }
}

extension AuditEntry {
    /// The name of the user whom the entry concerns: the subject if the action changes a user, or
    /// else the actor.
    fileprivate var person: String { self.action.hasPrefix("user.") ? self.subject : self.actor }

    fileprivate var json: JSONValue {
        .object([
            .init("Number", .number(Int(self.number))),
            .init("At", .string(self.at.rfc3339)),
            .init("Action", .string(self.action)),
            .init("Subject", .string(self.subject)),
            .init("Detail", .string(self.detail)),
            .init("Actor", .string(self.actor)),
            .init("Token", .string(self.token)),
            .init("Client", .string(self.client)),
            .init("Request", .string(self.request)),
        ])
    }
}
