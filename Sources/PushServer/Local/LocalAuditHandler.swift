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

    /// Answers with one line of JSON. Its member is `Verified`, the number of the newest entry, or
    /// `Fault`, the number of the first entry that somebody has changed.
    private func verify(_ context: RequestContext) async throws -> Response {
        // The verification has its own reader, so that other reports need not wait for it.
        let reports = ReportReader(try self.store.makeReader())
        return Response(lines: { writer in
            let line = try await reports.run { reader -> JSONValue in
                if let fault = try await reader.auditFault() {
                    return .object([.init("Fault", .number(fault))])
                }
                return .object([.init("Verified", .number(try await reader.lastAuditNumber()))])
            }
            try await writer.write(line: line)
        })
    }
}

extension Response {
    /// A response of JSON lines, which `body` writes one after the other, without a deadline. No
    /// cache may keep the response.
    ///
    /// If the store fails, the last line has only the member `Failed` with the reason, or the
    /// member `Unusable` if no restart cures the failure.
    init(lines body: @escaping StreamingBody) {
        self.init(
            status: .ok,
            fields: [.contentType: "application/jsonl", .cacheControl: "no-store"],
            streamingBody: { writer in
                do {
                    try await body(writer)
                } catch let error as StoreError {
                    let name = error.isConfiguration ? "Unusable" : "Failed"
                    try await writer.write(line: [.init(name, .string(error.description))])
                }
            }
        )
    }
}
