import Foundation
import Logging
import PushTesting
import SocketHTTP
import Testing

@testable import PushApplication

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The real executable, told by SIGHUP that its file has changed.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationReloadTests {
    private let folder: TemporaryFolder
    private let daemon: Daemon

    init() async throws {
        self.folder = try TemporaryFolder()
        _ = try await Daemon.run(["user", "add", "alice", "--password-stdin"], in: folder, input: "correct horse\n")
        try Self.write("quotas: {device: {requests: 50, window: 60}}", in: folder)
        self.daemon = try await Daemon(in: folder, arguments: ["--config", "sealpost.yaml"])
    }

    private static func write(_ text: String, in folder: TemporaryFolder) throws {
        try text.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
    }

    /// The line of the log that has `text` in it.
    private func reload(_ configuration: String, until text: String) async throws -> String {
        try Self.write(configuration, in: self.folder)
        self.daemon.process.signal(SIGHUP)
        return await self.daemon.process.errors(until: text)
    }

    /// The quota that an answer shows.
    private func quota() async throws -> String? {
        var request = URLRequest(url: try self.daemon.server.appending(path: "/api/register"))
        let credentials = Data("alice:correct horse".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        let (_, response) = try await URLSession.shared.data(for: request)
        return try #require(response as? HTTPURLResponse).value(forHTTPHeaderField: "RateLimit-Policy")
    }

    @Test func aGoodFileIsInForceAndWhatNeedsARestartIsNamed() async throws {
        #expect(try await self.quota() == #""device";q=50;w=60"#)
        let text = """
            quotas: {device: {requests: 70, window: 90}}
            server: {limits: {handlerTimeout: 20, idleTimeout: 20}}
            notifications: {maxPayload: 1000}
            """
        let lines = try await self.reload(text, until: "before a restart")
        let changed = "quotas.device.requests quotas.device.window server.limits.idleTimeout"
        #expect(lines.contains("configuration reloaded changed=\"\(changed)\""), "\(lines)")
        #expect(lines.contains("keys=\"notifications.maxPayload server.limits.handlerTimeout\""), "\(lines)")
        #expect(try await self.quota() == #""device";q=70;w=90"#)
        #expect(await self.daemon.terminate() == 0)
    }

    @Test(arguments: [
        ("quotas: {device: {requests: 0, window: 60}}", "sealpost.yaml:1: quotas.device.requests: must be"),
        ("quotas: {device: {requests: 70, window: 60}}\nsenders: {x: {type: y}}", "senders.x"),
        ("quotas: {device: {requests: 70}", "is not YAML"),
        ("\tdatabase: postgres://u:hunter2@h/d", "sealpost.yaml:1:1: is not YAML: found character"),
        ("server: {trustedProxies: [0.0.0.0/0], identityHeader: X-User}", "trustedProxies"),
    ])
    func aBadFileChangesNothingAndTheLogSaysWhy(text: String, reason: String) async throws {
        let lines = try await self.reload(text, until: "the old configuration stays in use")
        #expect(lines.contains(reason) && !lines.contains("hunter2"), "\(lines)")
        #expect(try await self.quota() == #""device";q=50;w=60"#)
        #expect(await self.daemon.terminate() == 0)
    }

    @Test func theLevelHoldsForAllLoggersThatShareIt() {
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
