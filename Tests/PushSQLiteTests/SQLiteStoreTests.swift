import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct SQLiteStoreTests {
    private let keyring: Keyring

    init() throws {
        self.keyring = try Keyring(text: Keyring.generateText())
    }

    @Test func storedUserSurvivesReopening() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let name = try #require(Username("alice"))
        do {
            let store = try SQLiteStore(path: path, keyring: self.keyring)
            _ = try await store.addUser(name, role: .admin, password: PasswordHash(phc: "x"), now: Date())
            await store.close()
        }
        #expect(try SQLiteStore(path: path, keyring: self.keyring).makeSQLiteReader().user(named: name)?.role == .admin)
    }

    @Test func aSecondProcessIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let first = try SQLiteStore(path: path, keyring: self.keyring)
        // With these locks, the kernel's list has more than 4 KiB, and the newest lock comes
        // first.
        let locks = try (0..<100).map { try LockFile(forDatabase: folder.file("\($0)")) }
        defer { for lock in locks { lock.release() } }
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path, keyring: self.keyring) }
        let text = "the database \(path) is in use by another process (\(getpid())); stop that process first"
        #expect("\(try #require(error))" == text)
        withExtendedLifetime(first) {}
    }

    @Test func fileOfAnotherFormatIsRefusedAndKept() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let text = String(repeating: "this is no database ", count: 100)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: StoreError.self) { try SQLiteStore(path: path, keyring: self.keyring) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func aFolderThatCannotBeMadeIsNamed() throws {
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: "/dev/null/a.db", keyring: self.keyring) }
        #expect("\(try #require(error))".hasPrefix("cannot open /dev/null/a.db"))
    }

    @Test func theDatabaseIsItsOwnersOnly() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.file("a.db"), keyring: self.keyring)
        let mode = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func writesThatWaitAreCommittedTogetherAndEachGetsItsOwnAnswer() async throws {
        let fixture = try StoreFixture()
        let writer = fixture.sqlite.writer
        let commits = writer.log.commits
        let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
            try await writer.holding(until: 200) {
                for index in 0..<200 {
                    group.addTask {
                        // Each name occurs twice. The second job with a name fails, and must not
                        // affect the others.
                        try await fixture.store.addUser(
                            #require(Username("user\(index % 100)")),
                            role: .device,
                            password: PasswordHash(phc: "x"),
                            now: fixture.now
                        )
                    }
                }
            }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.filter(\.self).count == 100)
        // The job that held the writer wrote nothing, and all other jobs together made one commit.
        #expect(writer.log.commits - commits == 1)
    }
}
