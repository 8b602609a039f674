internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Makes the daemon read the keyring again, and encrypt again all values that are not encrypted
/// with the keyring's first key.
struct LocalKeyHandler: Handler {
    let store: any Store
    let reports: ReportReader
    let daemon: Daemon

    var routes: [Route] {
        [Route(.post, LocalPaths.keys, .atLeast(.admin, .manage), query: ["counts"]) { try await self.reload($0) }]
    }

    /// Answers with lines of JSON. The last line has these members: `Seals`, the number of the key
    /// that the server encrypts with; `Renewed`, how many values were encrypted again;
    /// `Unreadable`, how many values cannot be decrypted; and `Unused`, the keys that no value
    /// needs any more. If the server does not encrypt with the keyring's first key yet, the line
    /// also has `Waits`: an object with the number of that key, and the servers that lack it.
    ///
    /// The earlier lines report progress: `Passed` is the number of values that the server has
    /// checked. With `counts=true`, `Total` is the number of all values. If the old keyring stays
    /// in use, `Refused` has the reason.
    private func reload(_ context: RequestContext) async throws -> Response {
        let isCounting = try Query(context.request.head.query)["counts"] == "true"
        let reason = try await self.daemon.reloadKeys(try context.actor)
        return Response(lines: { writer in
            if let reason { return try await writer.write(line: [.init("Refused", .string(reason))]) }
            // Even if the command has ended early, the daemon continues to encrypt values again in
            // the background.
            defer { self.daemon.rewrap() }
            try await self.rewrap(isCounting: isCounting, writer)
        })
    }

    private func rewrap(isCounting: Bool, _ writer: BodyWriter) async throws {
        var total: [JSONValue.Member] = []
        if isCounting {
            total.append(.init("Total", .number(try await self.reports.run { try await $0.countSealed() })))
        }
        try await writer.write(line: [.init("Passed", .number(0))] + total)
        let pace = LinePace()
        let result = try await self.store.rewrap(page: nil) { [total] passed in
            if pace.isDue { try await writer.write(line: [.init("Passed", .number(passed))] + total) }
        }
        let end: [JSONValue.Member] = [
            .init("Seals", .number(self.store.vault.keyring.sealing)), .init("Renewed", .number(result?.renewed ?? 0)),
            .init("Unreadable", .number(result?.unreadable ?? 0)),
            .init("Unused", .array((result?.unused ?? []).map { .number($0) })),
        ]
        try await writer.write(line: end + self.waits)
    }
}

extension LocalKeyHandler {
    private var waits: [JSONValue.Member] {
        guard let wait = self.store.cluster?.keyWait else { return [] }
        let servers = JSONValue.array(wait.lacking.map { .string($0) })
        return [.init("Waits", .object([.init("Key", .number(wait.number)), .init("Servers", servers)]))]
    }
}

/// Limits the rate of progress lines.
private final class LinePace: Sendable {
    private static let interval = Duration.milliseconds(250)
    // The last time at which a line was sent. A lock protects it, since the compiler cannot see
    // that the closures that send lines do not run concurrently.
    private let last = Mutex(ContinuousClock.now)

    var isDue: Bool {
        self.last.withLock { last in
            let now = ContinuousClock.now
            guard now - last >= Self.interval else { return false }
            last = now
            return true
        }
    }
}

extension BodyWriter {
    func write(line members: [JSONValue.Member]) async throws {
        try await self.write(line: .object(members))
    }

    func write(line value: JSONValue) async throws {
        try await self.write(value.bytes + [UInt8(ascii: "\n")])
    }
}
