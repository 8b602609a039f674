import Foundation
import Logging
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushApplication

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The real executable rereads its configuration file on SIGHUP.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationReloadTests {
    private let folder: TemporaryFolder
    private let daemon: Daemon

    init() async throws {
        self.folder = try TemporaryFolder()
        try await Daemon.makeAlice(in: folder)
        try Self.write("quotas: {device: {requests: 50, window: 60}}", in: folder)
        // The daemon finds the file at its default path.
        self.daemon = try await Daemon(in: folder)
    }

    private static func write(_ text: String, in folder: TemporaryFolder) throws {
        try text.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
    }

    /// Writes the configuration and triggers a reload. Returns the log up to `text`.
    private func reload(_ configuration: String, until text: String) async throws -> String {
        try Self.write(configuration, in: self.folder)
        self.daemon.process.signal(SIGHUP)
        return await self.daemon.process.errors(until: text)
    }

    private func ask(
        _ method: String,
        _ path: String,
        _ body: String = "",
        over session: URLSession = .shared
    ) async throws -> HTTPURLResponse {
        var request = URLRequest(url: try self.daemon.server.appending(path: path))
        request.httpMethod = method
        if !body.isEmpty { request.httpBody = Data(body.utf8) }
        let credentials = Data("alice:correct horse".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        let (_, response) = try await session.data(for: request)
        return try #require(response as? HTTPURLResponse)
    }

    /// Returns the quota that the server's answer contains.
    private func quota() async throws -> String? {
        try await self.ask("GET", "/api/register").value(forHTTPHeaderField: "RateLimit-Policy")
    }

    @Test func aReloadAppliesAGoodFileAndNamesKeysThatNeedARestart() async throws {
        #expect(try await self.quota() == #""device";q=50;w=60"#)
        let text = """
            quotas: {device: {requests: 70, window: 90}}
            server: {limits: {idleTimeout: 20}}
            notifications: {maxPayload: 1000}
            """
        let lines = try await self.reload(text, until: "only after a restart")
        let changed = "quotas.device.requests quotas.device.window server.limits.idleTimeout"
        #expect(lines.contains("configuration reloaded changed=\"\(changed)\""), "\(lines)")
        #expect(lines.contains("keys=notifications.maxPayload"), "\(lines)")
        #expect(try await self.quota() == #""device";q=70;w=90"#)
        #expect(await self.daemon.terminate() == 0)
    }

    @Test(arguments: [
        ("quotas: {device: {requests: 0, window: 60}}", "sealpost.yaml:1: quotas.device.requests: must be"),
        ("quotas: {device: {requests: 70, window: 60}}\nsenders: {x: {type: y}}", "senders.x"),
        ("quotas: {device: {requests: 70}", "is not YAML"), ("quotas: {device: {request: 70}}", "is not known here"),
        ("log: {level: loud}", "log.level"), ("server: {limits: {headerBytes: many}}", "server.limits.headerBytes"),
        ("- a list", "must be a mapping"),
        ("\tdatabase: postgres://u:hunter2@h/d", "sealpost.yaml:1:1: is not YAML: found character"),
        ("server: {trustedProxies: [0.0.0.0/0], identityHeader: X-User}", "trustedProxies"),
    ])
    func aBadFileChangesNothingAndTheLogSaysWhy(text: String, reason: String) async throws {
        let lines = try await self.reload(text, until: "the old configuration stays in use")
        #expect(lines.contains(reason) && !lines.contains("hunter2"), "\(lines)")
        #expect(try await self.quota() == #""device";q=50;w=60"#)
        #expect(await self.daemon.terminate() == 0)
    }

    /// The server must not use another file, or the built-in settings, in place of its file.
    @Test func aMissingFileChangesNothing() async throws {
        try FileManager.default.removeItem(atPath: self.folder.file("sealpost.yaml"))
        self.daemon.process.signal(SIGHUP)
        let lines = await self.daemon.process.errors(until: "the old configuration stays in use")
        #expect(lines.contains("cannot be read"), "\(lines)")
        #expect(try await self.quota() == #""device";q=50;w=60"#)
        #expect(await self.daemon.terminate() == 0)
    }

    private final class Load: Sendable {
        let isOver = Mutex(false)
    }

    /// The test writes valid and invalid files alternately, while clients send requests without a
    /// pause.
    @Test func noRequestFailsWhileFilesAreExchanged() async throws {
        func file(_ number: Int) -> String {
            let quota = "quotas: {device: {requests: \(90_000_000 - number), window: 60}}"
            return "\(quota)\nserver: {limits: {bodyBytes: \(20_000 + number)}}"
        }
        _ = try await self.reload(file(0), until: "configuration reloaded")
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    while !load.isOver.withLock({ $0 }) {
                        let answer = try await self.ask("GET", "/api/notifications")
                        #expect(answer.statusCode == 200)
                    }
                }
            }
            for number in 1...20 {
                let isGood = number.isMultiple(of: 2)
                let last = isGood ? number : number - 1
                let end = isGood ? "configuration reloaded" : "the old configuration stays in use"
                _ = try await self.reload(isGood ? file(number) : "quotas: [", until: end)
                #expect(try await self.quota() == #""device";q=\#(90_000_000 - last);w=60"#)
                // A changed limit applies only to connections that begin after the reload.
                let session = URLSession(configuration: .ephemeral)
                for (bytes, status) in [(20_000 + last, 200), (20_001 + last, 413)] {
                    let body = "\"\(String(repeating: "x", count: bytes - 2))\""
                    let answer = try await self.ask("POST", "/api/notifications", body, over: session)
                    #expect(answer.statusCode == status)
                }
                session.finishTasksAndInvalidate()
            }
            load.isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(await self.daemon.terminate() == 0)
    }

    @Test func aReloadChangesTheLogLevelAtOnce() async throws {
        let quota = "quotas: {device: {requests: 50, window: 60}}"
        _ = try await self.reload("\(quota)\nlog: {level: debug}", until: "configuration reloaded")
        _ = try await self.quota()
        #expect(await self.daemon.process.errors(until: "request answered").contains("request answered"))
        _ = try await self.reload("\(quota)\nlog: {level: warning}", until: "configuration reloaded")
        _ = try await self.quota()
        let ended = await self.daemon.terminated()
        #expect(ended.code == 0)
        #expect(!ended.errors.contains("request answered"), "\(ended.errors)")
    }

    @Test func theLogLevelAppliesToAllLoggersThatShareIt() {
        let threshold = LogThreshold(.info)
        let first = LineLogHandler(threshold: threshold, writer: .standardError)
        var second = first
        second.logLevel = .error
        threshold.level = .debug
        #expect(first.logLevel == .debug)
        #expect(second.logLevel == .error, "set for itself")
        for level in Logger.Level.allCases { #expect(LogThreshold(level).level == level) }
    }
}
