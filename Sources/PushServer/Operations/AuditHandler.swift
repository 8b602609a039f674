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
            Route(.get, Paths.audit, .atLeast(.admin, .manage)) { try await self.listAudit($0) }
        ]
    }

    /// Lists audit entries, the newest first, a page at a time: `before` (an entry's number) and `limit`.
    private func listAudit(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        let before = try query["before"].map { text in
            guard let number = Int64(text), number > 0 else {
                throw Problem(.invalidParameter, "before must be the number of an audit entry")
            }
            return number
        }
        // One more than asked for tells whether there are more.
        let entries = try await self.reports.run { try await $0.auditEntries(before: before, limit: limit + 1) }
        return Response(
            uncached: .object([
                .init("Entries", .array(entries.prefix(limit).map(\.json))),
                .init("More", .bool(entries.count > limit)),
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
