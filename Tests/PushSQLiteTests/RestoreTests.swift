import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Restoring a database from a backup.
@Suite(.timeLimit(.minutes(5))) struct RestoreTests {
    private let fixture: StoreFixture
    private let database: SQLiteDatabase
    private let backup: String
    private let elsewhere: TemporaryFolder

    init() async throws {
        self.fixture = try StoreFixture()
        self.database = SQLiteDatabase(path: self.fixture.sqlite.path)
        self.elsewhere = try TemporaryFolder()
        self.backup = self.elsewhere.file("backup.db")
        let alice = try await self.fixture.addUser("alice")
        try await self.fixture.post(1, from: alice, to: "username:alice")
        try self.database.backUp(to: self.backup, keyring: self.fixture.keyring)
        try await self.fixture.post(2, from: alice, to: "username:alice")
    }

    private func restore(_ file: String? = nil, to path: String? = nil, replacing: Bool = true) throws {
        let database = path.map { SQLiteDatabase(path: $0) } ?? self.database
        try database.restore(file ?? self.backup, keyring: self.fixture.keyring, isReplacing: replacing)
    }

    private func ids(at path: String) throws -> [Int64] {
        try Connection.readOnly(path: path).read { try Int64.fetchAll($0, sql: "select id from notification") }
    }

    /// Returns all rows of all tables, as text.
    private func rows(at path: String) throws -> [String: [String]] {
        try Connection.readOnly(path: path).read { db in
            let tables = try String.fetchAll(db, sql: "select name from sqlite_schema where type = 'table'")
            return try Dictionary(
                uniqueKeysWithValues: tables.map { table in
                    (table, try NamedRow.fetchAll(db, sql: "select * from \"\(table)\"").map(\.description).sorted())
                }
            )
        }
    }

    @Test func restoredBackupServesAndTheOldDatabaseIsKept() async throws {
        await self.fixture.store.close()
        try self.restore()
        #expect(try self.ids(at: self.database.path) == [1])
        #expect(try self.ids(at: self.database.replacedPath).sorted() == [1, 2])
        let mode = try FileManager.default.attributesOfItem(atPath: self.database.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = try self.fixture.reopened()
        let alice = try await again.user("alice")
        try await again.post(3, from: alice, to: "username:alice")
        await again.store.close()
    }

    @Test func backupMadeUnderLoadIsRestoredRowByRow() async throws {
        let alice = try await self.fixture.user("alice")
        let copy = self.elsewhere.file("loaded.db")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 as Range<Int64> {
                group.addTask {
                    for number in 1...100 as ClosedRange<Int64> {
                        try await self.fixture.post(1000 * (task + 1) + number, from: alice, to: "username:alice")
                    }
                }
            }
            group.addTask { try self.database.backUp(to: copy, keyring: self.fixture.keyring) }
            try await group.waitForAll()
        }
        let target = self.elsewhere.file("restored.db")
        try self.restore(copy, to: target, replacing: false)
        let rows = try self.rows(at: copy)
        #expect(rows["notification"]?.isEmpty == false)
        #expect(try self.rows(at: target) == rows)
        let source = try self.rows(at: self.database.path)
        for table in ["notification", "recipient", "audit", "account", "device", "token"] {
            #expect(Set(source[table] ?? []).isSuperset(of: rows[table] ?? []), "\(table)")
        }
        let store = try SQLiteStore(path: target, keyring: self.fixture.keyring)
        await store.close()
    }

    @Test func aDatabaseInUseIsNotReplaced() async throws {
        #expect(throws: StoreError.self) { try self.restore() }
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
        await self.fixture.store.close()
    }

    @Test func aDatabaseIsReplacedOnlyOnDemandAndOnlyOnce() async throws {
        await self.fixture.store.close()
        #expect(throws: StoreError.self) { try self.restore(replacing: false) }
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
        try self.restore()
        #expect(throws: StoreError.self) { try self.restore() }
        #expect(try self.ids(at: self.database.replacedPath).sorted() == [1, 2])
    }

    /// The write-ahead log of the replaced database may contain its last changes, so the
    /// restoration must keep it, too.
    @Test(arguments: [["", "-wal"], [""], ["-wal"]])
    func allFilesOfTheReplacedDatabaseAreKeptAndNamed(suffixes: [String]) async throws {
        await self.fixture.store.close()
        let kept = suffixes.map { self.database.replacedPath + $0 }
        for file in kept { try Data(file.utf8).write(to: URL(fileURLWithPath: file)) }
        let error = #expect(throws: StoreError.self) { try self.restore() }
        let text = "\(try #require(error))"
        #expect(text.contains("as \(kept.joined(separator: " and ")): with the server stopped, move"), "\(text)")
        #expect(!text.contains("remove"), "\(text)")
        for file in kept { #expect(FileManager.default.contents(atPath: file) == Data(file.utf8)) }
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
    }

    enum Fault: String, CaseIterable, Sendable {
        case missing, damaged, foreign, otherKeys, later
    }

    @Test(arguments: Fault.allCases, [true, false])
    func unusableBackupChangesNothing(fault: Fault, withoutHash: Bool) async throws {
        await self.fixture.store.close()
        var keyring = self.fixture.keyring
        switch fault {
        case .missing: try FileManager.default.removeItem(atPath: self.backup)
        case .damaged:
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: self.backup))
            try file.seek(toOffset: 8192)
            try file.write(contentsOf: Data(repeating: 0xAA, count: 16_384))
            try file.close()
        case .foreign:
            try FileManager.default.removeItem(atPath: self.backup)
            try Connection(path: self.backup).write { try $0.execute(sql: "create table a (b)") }
        case .otherKeys: keyring = try Keyring(text: Keyring.generateText())
        case .later:
            try Connection(path: self.backup).write { db in
                try db.execute(sql: "insert into migration values ('M9999_later', 0, zeroblob(32))")
            }
        }
        let error = #expect(throws: StoreError.self) {
            try self.database.restore(self.backup, keyring: keyring, isReplacing: true, withoutHash: withoutHash)
        }
        if fault == .otherKeys, !withoutHash {
            #expect(error?.description.contains("the backup is of another server, whose keyring it needs, or") == true)
        }
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
        #expect(!FileManager.default.fileExists(atPath: self.database.replacedPath))
        #expect(!FileManager.default.fileExists(atPath: self.database.path + ".restoring"))
        await (try self.fixture.reopened()).store.close()
    }

    /// The stamp of the lock file spares the next start a search through all pages.
    @Test func aRefusedRestoreLeavesNothingBehind() async throws {
        await self.fixture.store.close()
        let lock = try LockFile(forDatabase: self.database.path)
        lock.leave("a stamp")
        lock.release()
        #expect(throws: StoreError.self) { try self.restore(replacing: false) }
        #expect(try LockFile(forDatabase: self.database.path).lastStamp == "a stamp")
        let folder = try TemporaryFolder()
        let keyring = try Keyring(text: Keyring.generateText())
        #expect(throws: StoreError.self) {
            try SQLiteDatabase(path: folder.file("new.db")).restore(self.backup, keyring: keyring, isReplacing: false)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    /// An attacker who can write to the backups but has no keyring gives a user another role.
    @Test(arguments: [true, false]) func aBackupThatWasChangedIsRefused(isVacuumed: Bool) async throws {
        await self.fixture.store.close()
        let file = isVacuumed ? self.elsewhere.file("vacuumed.db") : self.backup
        let connection = try Connection(path: self.backup)
        try connection.exclusively { db in
            try db.execute(sql: "update account set role = 'admin'")
            if isVacuumed { try db.execute(sql: "vacuum into ?", arguments: [file]) }
        }
        try connection.close()
        let error = #expect(throws: StoreError.self) { try self.restore(file) }
        let reason = isVacuumed ? "the backup has no keyed hash" : "hash does not match"
        #expect(error?.description.contains(reason) == true, "\(error.map(String.init(describing:)) ?? "restored")")
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
    }

    /// `cut` is the number of bytes that the backup lacks; `nil` stands for another file.
    @Test(arguments: [1, 100, 5000, nil]) func anIncompleteBackupIsReportedAsIncomplete(cut: Int?) async throws {
        await self.fixture.store.close()
        let backup = URL(fileURLWithPath: self.backup)
        let data = try cut.map { try Data(contentsOf: backup).dropLast($0) }
        try (data ?? Data("root:x:0:0".utf8)).write(to: backup)
        let error = #expect(throws: StoreError.self) { try self.restore() }
        let text = "\(try #require(error))"
        #expect(text.contains("it is not a complete database of sealpost"), "\(text)")
        #expect(!text.contains("--without-hash"))
    }

    @Test func aBackupWithoutAHashIsRestoredOnDemand() async throws {
        await self.fixture.store.close()
        let copy = self.elsewhere.file("vacuumed.db")
        try Connection(path: self.database.path).exclusively { db in
            try db.execute(sql: "vacuum into ?", arguments: [copy])
        }
        let keyring = self.fixture.keyring
        try self.database.restore(copy, keyring: keyring, isReplacing: true, withoutHash: true)
        #expect(try self.ids(at: self.database.path).sorted() == [1, 2])
    }

    /// Reproduces the state after a process ended in the middle of a restore. `moved` are the
    /// suffixes of the files that the process had already moved away.
    @Test(arguments: [[], [""], ["", "-wal"]])
    func interruptedRestoreMustBeFinishedFirst(moved: [String]) async throws {
        await self.fixture.store.close()
        let path = self.database.path
        try Data("a log".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
        for suffix in moved {
            try FileManager.default.moveItem(atPath: path + suffix, toPath: self.database.replacedPath + suffix)
        }
        try Data("restoring".utf8).write(to: URL(fileURLWithPath: path + ".lock"))
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try self.fixture.reopened() }
            #expect("\(try #require(error))".contains("run sealpost restore again"))
            #expect(error?.isConfiguration == true, "a restart does not help")
        }
        try self.restore()
        #expect(try self.ids(at: path) == [1])
        let log = FileManager.default.contents(atPath: self.database.replacedPath + "-wal")
        #expect(log == Data("a log".utf8))
        #expect(FileManager.default.fileExists(atPath: self.database.replacedPath))
        await (try self.fixture.reopened()).store.close()
    }
}
