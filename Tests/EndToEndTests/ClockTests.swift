import Foundation
import Logging
import PushCore
import PushTesting
import Synchronization
import Testing

@testable import PushApplication
@testable import sealpost

/// The server's own clock does not follow a jump of the machine's clock. The tests check what
/// operators then see, and how they accept the jump.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    private static let jump: TimeInterval = 100 * 86_400

    private let folder: TemporaryFolder
    private var configuration = Configuration()
    private var file: ClockFile { self.configuration.clockFile }

    init() throws {
        self.folder = try TemporaryFolder()
        self.configuration.database = self.folder.file(self.configuration.database)
    }

    /// Saves an earlier time of the clock. Compared with it, the machine's clock seems to have
    /// jumped ahead by `seconds`.
    private func jumpAhead(_ seconds: TimeInterval = Self.jump) throws {
        let mark = HeldClock().mark
        let earlier = mark.time - seconds
        try self.file.save(.init(time: earlier, uptime: mark.uptime, next: mark.next, boot: mark.boot))
    }

    @Test func theMarkIsReadBackFromItsFile() throws {
        #expect(try self.file.load() == nil)
        for seconds in [0.0, 3600] {
            let time = Date(timeIntervalSince1970: 1_800_000_000.125 + seconds)
            let mark = HeldClock.Mark(time: time, uptime: 5.5, step: -seconds, rise: seconds, next: 86_400, boot: "b")
            try self.file.save(mark)
            try #require(chmod(self.file.path, 0o644) == 0)
            #expect(try self.file.load() == mark)
        }
    }

    @Test(arguments: [
        "", "x 1 0 0 1 boot", "1 x 0 0 1 boot", "1", "1 2 3 4 boot", "1 2 3 4 5 boot 6",
        "99999999999999999999 1 0 0 1 b",
        "9223372036854775807 0 0 0 1 b", "253402300800000 0 0 0 1 b", "1 -1 0 0 1 b", "1 1 99999999999 0 1 b",
    ])
    func theServerReplacesADamagedFile(text: String) async throws {
        try self.file.save(HeldClock().mark)
        try PrivateFile.change(self.file.path, what: "") { _ in (text, ()) }
        #expect(throws: ConfigurationError.self) { try self.file.load() }
        let daemon = try await Daemon(in: self.folder)
        #expect(await daemon.terminate() == 0)
        #expect(try self.file.load() != nil, "replaced")
    }

    @Test func theClockFileIsNextToTheTimelineWithPostgreSQL() {
        var configuration = Configuration()
        configuration.place = Configuration.place(of:)
        (configuration.database, configuration.keys) = ("postgres://db/sealpost", "/var/lib/sealpost")
        #expect(configuration.clockFile.path == "/var/lib/sealpost/timeline.clock")
    }

    @Test func aCommandAcceptsTheClockWithoutAServer() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        try await self.acceptTwice()
    }

    @Test func aCommandAcceptsTheClockOfAServer() async throws {
        try self.jumpAhead()
        let daemon = try await Daemon(in: self.folder)
        try await self.acceptTwice()
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        #expect(doctor.output.contains("ok   clock: "), "\(doctor.output)")
        #expect(await daemon.terminate() == 0)
    }

    private func acceptTwice() async throws {
        try self.jumpAhead()
        for text in ["data expires by the time 20", "the clock was accepted already"] {
            let ended = try await Daemon.run(["clock", "accept"], in: self.folder)
            #expect(ended.code == 0 && ended.output.hasPrefix(text), "\(ended.output)\(ended.errors)")
        }
        let audit = try await Daemon.run(["audit", "list"], in: self.folder)
        #expect(audit.output.contains("clock.accept"), "\(audit.output)")
        #expect(try HeldClock(after: self.file.load()).held == nil)
    }

    /// By the wrong clock, the payload and the session have already expired.
    @Test func aPayloadAndASessionExpireWhenTheClockIsAccepted() async throws {
        try self.jumpAhead()
        let adding = ["user", "add", "alice", "--password-stdin"]
        _ = try await Daemon.run(adding, in: self.folder, input: "correct horse\n")
        var daemon = try await Daemon(in: self.folder)
        let alice = ["--user", "alice:correct horse"]
        let opened = try await self.ask(daemon, "/api/sessions", alice + ["--data", #"{"ExpiresIn":7776000}"#])
        let token = try #require(opened.firstMatch(of: /"Token":"([^"]+)"/), "\(opened)").output.1
        let order = #"{"Payload":"until next month","ExpiresIn":2592000}"#
        let posted = try await self.ask(daemon, "/api/notifications", alice + ["--data", order])
        let id = try #require(posted.firstMatch(of: /"Id":(\d+)/), "\(posted)").output.1
        let (path, session) = ("/api/notifications/\(id)", ["--header", "Authorization: Bearer \(token)"])
        for isRestarted in [false, true] {
            if isRestarted {
                #expect(await daemon.terminate() == 0)
                daemon = try await Daemon(in: self.folder)
            }
            #expect(try await self.ask(daemon, path, session).hasSuffix(" 200"))
            #expect(try await self.ask(daemon, "/readyz").contains("Warnings"))
            let doctor = try await Daemon.run(["doctor"], in: self.folder)
            #expect(doctor.output.contains("fail clock: "), "\(doctor.output)")
        }
        #expect(try await Daemon.run(["clock", "accept"], in: self.folder).code == 0)
        #expect(try await self.ask(daemon, path, session).hasSuffix(" 401"))
        try await eventually { try await self.ask(daemon, path, alice).hasSuffix(" 404") }
        #expect(try await !self.ask(daemon, "/readyz").contains("Warnings"))
        #expect(await daemon.terminate() == 0)
    }

    /// Returns the server's answer to curl: the body, followed by the status.
    private func ask(_ daemon: Daemon, _ path: String, _ options: [String] = []) async throws -> String {
        let arguments = ["--silent", "--write-out", " %{http_code}"] + options
        return try await ChildProcess(
            "/usr/bin/curl",
            arguments + ["http://127.0.0.1:\(daemon.port)\(path)"],
            in: self.folder.path
        ).end().output
    }

    /// The operator had accepted a clock that was ahead. The clock is right again, so it is behind
    /// the accepted time.
    @Test func aCommandAcceptsAClockThatIsBehind() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        try self.jumpAhead(-Self.jump)
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        #expect(doctor.output.contains(", 100.0 days behind an earlier accepted time; "), "\(doctor.output)")
        let ended = try await Daemon.run(["clock", "accept"], in: self.folder)
        #expect(ended.output.hasPrefix("data expires by the time 20"), "\(ended.output)\(ended.errors)")
        #expect(try HeldClock(after: self.file.load()).behind == nil)
    }

    /// How many seconds another machine's clock is ahead of this one, and whether that clock
    /// confirms this one. `nil` means that there is no other machine.
    @Test(
        arguments: [(0, true), (3000, true), (-3000, true), (-Self.jump, false), (nil, false)]
            as [(Double?, Bool)]
    )
    func anotherMachineConfirmsTheClock(offset: Double?, isConfirmed: Bool) async throws {
        try self.jumpAhead()
        let clock = HeldClock(after: try self.file.load())
        let service = ClockService(
            clock: clock,
            file: self.file,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            otherClock: { offset.map { Date() + $0 } }
        )
        var watch = ClockService.Watch()
        for _ in 1..<ClockService.turnsUntilConfirmed { await service.turn(&watch) }
        #expect(clock.held != nil)
        await service.turn(&watch)
        #expect((clock.held == nil) == isConfirmed)
        #expect(try (HeldClock(after: self.file.load()).held == nil) == isConfirmed)
    }

    @Test(arguments: [(4, 0), (-4, 0), (90, 1), (-90, 1), (nil, 0)] as [(Double?, Int)])
    func aDifferenceFromTheDatabasesClockIsLoggedOnce(offset: Double?, warnings: Int) async throws {
        let log = LogRecorder(logLevel: .warning)
        let service = ClockService(
            clock: HeldClock(),
            file: self.file,
            logger: Logger(label: "test") { _ in log },
            otherClock: { offset.map { Date() + $0 } }
        )
        var watch = ClockService.Watch()
        for _ in 1...3 { await service.turn(&watch) }
        #expect(log.lines.count { $0.hasPrefix("warning machine's clock differs from the database's") } == warnings)
    }

    @Test func aDisagreeingClockRestartsTheConfirmation() async throws {
        try self.jumpAhead()
        let clock = HeldClock(after: try self.file.load())
        let agrees = Mutex(true)
        let service = ClockService(
            clock: clock,
            file: self.file,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            otherClock: { agrees.withLock { $0 } ? Date() : nil }
        )
        var watch = ClockService.Watch()
        for _ in 1..<ClockService.turnsUntilConfirmed { await service.turn(&watch) }
        agrees.withLock { $0 = false }
        await service.turn(&watch)
        agrees.withLock { $0 = true }
        await service.turn(&watch)
        #expect(clock.held != nil)
    }
}
