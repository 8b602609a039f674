internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Verifies the audit, in a time proportional to its length.
struct LocalAuditHandler: Handler {
    let store: any Store

    var routes: [Route] {
        [Route(.get, LocalPaths.audit, .atLeast(.admin, .manage)) { try await self.verify($0) }]
    }

    /// Answers with a line: `Verified` with the number of the newest entry, or `Fault` with the
    /// number of the first entry that was changed.
    private func verify(_ context: RequestContext) async throws -> Response {
        // The verification has its own reader, so that other reports need not wait for it.
        let reports = ReportReader(try self.store.makeReader())
        return Response(lines: { writer in
            let line = try await reports.run { reader -> JSONValue in
                if let fault = try await reader.auditFault() {
                    return .object([.init("Fault", .number(fault.number))])
                }
                return .object([.init("Verified", .number(try await reader.lastAuditNumber()))])
            }
            try await writer.write(line: line)
        })
    }
}

extension Response {
    /// Lines of JSON that `body` writes one after the other, without a deadline; no cache may keep
    /// them.
    init(lines body: @escaping StreamingBody) {
        self.init(
            status: .ok,
            fields: [.contentType: "application/jsonl", .cacheControl: "no-store"],
            streamingBody: body
        )
    }
}
