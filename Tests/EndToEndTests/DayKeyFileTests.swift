import Foundation
import PushCore
import PushPostgreSQL
import PushStore
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// The file of day keys, which the server replaces each day, and the errors about it that
/// operators see.
@Suite(.timeLimit(.minutes(5))) struct DayKeyFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("day-keys")
    }

    private func day(_ number: UInt32) -> Day { Day(number: number) }

    @Test func theFileIsPrivateToItsOwnerAndCreatedOnce() throws {
        let file = DayKeyFile(self.path)
        #expect(try file.load() == nil)
        let chain = DayChain(from: self.day(20_000))
        try file.create(chain)
        #expect(try file.load() == chain)
        let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(throws: ConfigurationError.self) { try file.create(DayChain(from: self.day(20_000))) }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.path)
        #expect(throws: ConfigurationError.self) { _ = try file.load() }
        try self.folder.writeSecret("1 AAAA\n", to: "day-keys")
        #expect(throws: ConfigurationError.self) { _ = try file.load() }
    }

    @Test func advancingTheFileOverwritesTheOldKeys() throws {
        let file = DayKeyFile(self.path)
        let chain = DayChain(from: self.day(20_000))
        try file.create(chain)
        // The hard link keeps access to the blocks of the old file, so the test can check that the
        // old key is overwritten there.
        try FileManager.default.linkItem(atPath: self.path, toPath: self.folder.file("old"))
        let next = chain.advanced(to: self.day(20_003))
        try file.advance(to: next)
        #expect(try file.load() == next)
        let old = try Data(contentsOf: URL(fileURLWithPath: self.folder.file("old")))
        #expect(old == Data(count: chain.text.utf8.count))
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted()
        #expect(names == ["day-keys", "old"])
    }

    /// Servers on one machine, or with a shared folder, share one file of day keys.
    @Test func aFileAdvancedFurtherByAnotherServerIsKept() throws {
        let file = DayKeyFile(self.path)
        let chain = DayChain(from: self.day(20_000))
        try file.create(chain)
        try file.advance(to: chain.advanced(to: self.day(20_005)))
        try file.advance(to: chain.advanced(to: self.day(20_003)))
        #expect(try file.load() == chain.advanced(to: self.day(20_005)))
    }

    /// The server was killed while it replaced the file for a new day, and left a temporary file.
    @Test(arguments: ["", "1 AA", String(repeating: "1 AA", count: 100)])
    func leftoversOfACrashedChangeAreOverwritten(left: String) throws {
        let file = DayKeyFile(self.path)
        let chain = DayChain(from: self.day(20_000))
        try file.create(chain)
        try self.folder.writeSecret(left, to: "day-keys.new")
        // The change must overwrite the blocks of the leftover file, and then rename this file.
        let blocks = try FileHandle(forReadingFrom: URL(fileURLWithPath: self.path + ".new"))
        let next = chain.advanced(to: self.day(20_001))
        try file.advance(to: next)
        #expect(try file.load() == next)
        #expect(try blocks.readToEnd() == Data(next.text.utf8))
        #expect(!FileManager.default.fileExists(atPath: self.path + ".new"))
    }

    /// An attacker who may write to the folder has hard-linked another file of the server under
    /// the temporary file's name.
    @Test func aHardLinkedFileIsRefusedAndKept() throws {
        let (file, other) = (DayKeyFile(self.path), self.folder.file("other"))
        let chain = DayChain(from: self.day(20_000))
        try file.create(chain)
        try self.folder.writeSecret("kept", to: "other")
        try FileManager.default.linkItem(atPath: other, toPath: self.path + ".new")
        #expect(throws: ConfigurationError.self) { try file.advance(to: chain.advanced(to: self.day(20_001))) }
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "kept")
        #expect(try file.load() == chain)
    }

    @Test func aMissingFileIsReportedByServeDoctorAndKeysList() async throws {
        let address = try PostgreSQLCluster.shared.newDatabaseText()
        let environment = ["SEALPOST_DATABASE": address, "SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]
        func run(_ arguments: String...) async throws -> ChildProcess.Ended {
            try await Daemon.run(arguments, in: self.folder, environment: environment)
        }
        let daemon = try await Daemon(
            in: self.folder,
            settings: ["SERVER_LISTEN": "127.0.0.1:0", "DATABASE": address]
        )
        let file = self.folder.file("var/day-keys")
        try await eventually { try PostgreSQLPlace(address)?.dayKeys()?.holders.count == 1 }
        #expect(await daemon.terminate() == 0)
        let listed = try await run("keys", "list")
        #expect(listed.code == 0 && listed.output.contains("day keys  encrypt payloads\n"), "\(listed.output)")
        #expect(listed.output.contains("var/day-keys  from 20"), "\(listed.output)")
        let good = try await run("doctor")
        #expect(good.output.contains("ok   day-keys"), "\(good.output)")

        try FileManager.default.moveItem(atPath: file, toPath: self.folder.file("kept"))
        let (served, looked, keys) = (try await run("serve"), try await run("doctor"), try await run("keys", "list"))
        #expect(served.code == 78 && served.errors.contains("copy it from another server"), "\(served.errors)")
        #expect(looked.output.contains("fail day-keys"), "\(looked.output)")
        #expect(keys.code == 78 && keys.output.contains("missing"), "\(keys.output) \(keys.errors)")

        // After the restoration of an older copy, the server continues from the day of this copy.
        try FileManager.default.moveItem(atPath: self.folder.file("kept"), toPath: file)
        #expect(try await run("doctor").output.contains("ok   day-keys"))
    }
}
