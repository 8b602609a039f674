internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the audit.
struct AuditHandler: Handler {
    let reports: ReportReader

    var routes: [Route] {
        [
            Route(
                .get,
                Paths.audit,
                .atLeast(.admin, .manage, seeing: .view),
                query: ["cursor", "before", "limit", "words", "action"]
            ) {
                try await self.listAudit($0)
            }
        ]
    }

    /// Lists audit entries, the newest first, a page at a time; a cursor is the last entry's
    /// number.
    private func listAudit(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let before = try query.start(
            { text in Int64(text).flatMap { $0 > 0 ? $0 : nil } },
            older: "before",
            "the number of an audit entry"
        )
        if let filter = try AuditFilter(query) {
            return try await self.searchAudit(filter.scan(before: before, limit: limit))
        }
        // Reading one more than the limit reveals whether there are more.
        let entries = try await self.reports.run { try await $0.auditEntries(before: before, limit: limit + 1) }
        let shown = entries.prefix(limit)
        return Response(
            page: "Entries",
            shown.map(\.json),
            cursor: (shown.last?.number ?? before).map(String.init),
            hasMore: entries.count > limit
        )
    }

    /// The entries that a search finds, in short reads, so that other reports come in between.
    private func searchAudit(_ search: ListScan<AuditEntry, Int64>) async throws -> Response {
        var scan = search
        try await scan.run { last, count in
            try await self.reports.run { try await $0.auditEntries(before: last, limit: count) }
        }
        return Response(
            uncached: .object([
                .init("Entries", .array(scan.found.map(\.json))),
                .init("Searched", .number(scan.searched)),
                .init("Cursor", scan.last.map { .string(String($0)) } ?? .null),
                .init("More", .bool(scan.hasMore)),
            ])
        )
    }
}

extension AuditEntry {
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
