import Foundation
import PostgreSQL
import PushStore
import PushTesting
import Testing

@testable import PushApplication

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The server remembers the timeline of its PostgreSQL database beyond a restart, and refuses a
/// database with an older timeline.
@Suite(.timeLimit(.minutes(5))) struct DatabaseTimelineTests {
    private let folder: TemporaryFolder
    private let file: TimelineFile

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = TimelineFile(self.folder.file("timeline"))
    }

    @Test func theNewestTimelineIsKept() throws {
        #expect(try self.file.load() == nil)
        for timeline: UInt32 in [3, 4, 2] { try self.file.keep(DatabaseMark(cluster: "7", timeline: timeline)) }
        #expect(try self.file.load() == DatabaseMark(cluster: "7", timeline: 4))
        #expect(throws: ConfigurationError.self) { try self.file.keep(DatabaseMark(cluster: "8", timeline: 9)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["timeline"])
    }

    @Test(arguments: ["", "7 4", "7\n", "7 4\n\n", "7 -1\n", "x 4\n", "7 4294967296\n", "7 4 1\n"])
    func aMalformedTimelineFileIsRefused(text: String) throws {
        try self.folder.writeSecret(text, to: "timeline")
        #expect(throws: ConfigurationError.self) { _ = try self.file.load() }
    }

    /// The text of the file, and the reason why `doctor` refuses the database as the start does.
    @Test(arguments: [
        ("<cluster> 1", "the file of the timeline var/timeline is not valid; remove it"),
        ("7 1\n", "the server belongs to another cluster than the one used before"),
        ("<cluster> 4294967295\n", "is on timeline 1, but timeline 4294967295 was used before"),
    ])
    func theDoctorComparesTheFileWithTheDatabase(text: String, reason: String) async throws {
        let environment = ["SEALPOST_DATABASE": try PostgreSQLCluster.shared.newDatabaseText()]
        func run(_ command: String...) async throws -> ChildProcess.Ended {
            try await Daemon.run(command, in: self.folder, environment: environment)
        }
        #expect(try await run("user", "add", "alice", "--no-password").code == 0)
        #expect(try await run("doctor").output.contains("\nok   database: "))
        let kept = try #require(try TimelineFile(self.folder.file("var/timeline")).load())
        try self.folder.writeSecret(text.replacing("<cluster>", with: kept.cluster), to: "var/timeline")
        let doctor = try await run("doctor")
        #expect(doctor.code == 1)
        let line = doctor.output.split(separator: "\n").first { $0.hasPrefix("fail database: ") } ?? ""
        #expect(line.contains(reason), "\(doctor.output)")
        #expect(try await run("user", "list").errors.contains(reason))
    }

    @Test func aServerIsNotReadyUntilTheNewestDatabaseIsBack() async throws {
        let twins = try await TwinServers()
        try twins.lead(to: .second)
        let settings = ["SERVER_LISTEN": "127.0.0.1:0", "DATABASE": try twins.address().description]
        #expect(try await Daemon(in: self.folder, settings: settings).terminate() == 0)
        let kept = try TimelineFile(self.folder.file("var/timeline")).load()
        #expect(kept?.timeline == 2)

        try twins.lead(to: .first)
        let daemon = try await Daemon(in: self.folder, settings: settings)
        let (status, body) = try await self.get("/readyz", daemon)
        #expect(status == 503 && body.contains("the database is older than the one used before"), "\(body)")
        #expect(try await self.get("/healthz", daemon).status == 200)
        #expect(try await self.get("/api/notifications", daemon).status == 503)
        // A command must not write to the older database, either.
        let command = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n",
            environment: ["SEALPOST_DATABASE": try twins.address().description]
        )
        #expect(command.code == 1 && command.errors.contains("var/timeline"), "\(command.errors)")
        let first = try BlockingConnection(twins.address(of: .first))
        #expect(try first.query("select to_regclass('migration') is null")[0].boolean(0))

        try twins.lead(to: .second)
        try await eventually { try await self.get("/readyz", daemon).status == 200 }
        let ended = await daemon.terminated()
        #expect(ended.code == 0 && ended.errors.contains("serving"), "\(ended.errors)")
    }

    private func get(_ path: String, _ daemon: Daemon) async throws -> (status: Int, body: String) {
        let (data, response) = try await URLSession.shared.data(from: daemon.server.appending(path: path))
        return (try #require(response as? HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))
    }
}
