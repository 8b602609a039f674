import Foundation
import Glibc
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct LockFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("sealpost.db")
    }

    @Test func aDatabaseHasOneLock() throws {
        let lock = try LockFile(forDatabase: self.path)
        #expect(throws: StoreError.self) { try LockFile(forDatabase: self.path) }
        lock.release()
        lock.release()
        _ = try LockFile(forDatabase: self.path)
    }

    /// A command that asks for the lock must not make a server fail that starts at that moment.
    @Test func aQuestionDoesNotTakeTheLock() async throws {
        let path = self.path
        let (begun, signal) = AsyncStream<Void>.makeStream()
        async let questions: Void = {
            signal.finish()
            for _ in 0..<100_000 { _ = LockFile.isHeld(forDatabase: path) }
        }()
        for await _ in begun {}
        for _ in 0..<1500 {
            let lock = try LockFile(forDatabase: path)
            #expect(LockFile.isHeld(forDatabase: path))
            lock.release()
            #expect(!LockFile.isHeld(forDatabase: path))
        }
        await questions
    }

    /// A process may open the lock file just before another process removes it.
    @Test func aRemovedLockFileGivesNobodyTheLock() throws {
        let lock = try LockFile(forDatabase: self.path)
        let descriptor = try openStateFile(self.path + ".lock")
        defer { close(descriptor) }
        lock.removeUnstamped()
        lock.release()
        #expect(!lockStateFile(descriptor, at: self.path + ".lock"))
        let next = try LockFile(forDatabase: self.path)
        #expect(!lockStateFile(descriptor, at: self.path + ".lock"))
        next.leave("stamp")
        next.removeUnstamped()
        #expect(FileManager.default.fileExists(atPath: self.path + ".lock"))
    }

    /// Between `fork` and `exec`, a child process also has a descriptor that shares the lock.
    @Test func aLockIsReleasedThoughAnotherDescriptorSharesIt() throws {
        let lock = try LockFile(forDatabase: self.path)
        let descriptor = try Self.descriptor(of: self.path + ".lock")
        let shared = dup(try #require(descriptor))
        defer { close(shared) }
        lock.release()
        #expect(!LockFile.isHeld(forDatabase: self.path))
        _ = try LockFile(forDatabase: self.path)
    }

    /// A server reports the lock itself, and its own writes must not count as those of another
    /// program.
    @Test(arguments: [true, false])
    func anInspectionReportsTheLockOfAnotherProgramUnlessAServerRuns(isServing: Bool) async throws {
        let store = try SQLiteStore(path: self.path, keyring: Keyring(text: Keyring.generateText()))
        if !isServing { await store.close() }
        let database = SQLiteDatabase(path: self.path)
        let other = try Connection(path: self.path)
        try other.exclusively { try $0.execute(sql: "begin immediate") }
        if isServing {
            #expect(try database.inspect().damage == [])
        } else {
            let error = #expect(throws: StoreError.self) { try database.inspect() }
            #expect(error?.description.contains("has locked the file; end that program") == true)
        }
        try other.exclusively { try $0.execute(sql: "rollback") }
        #expect(try database.inspect().damage == [])
        try other.close()
        if isServing { await store.close() }
    }

    @Test func anInspectionChangesNoByteAfterACrash() throws {
        let connection = try SQLiteStore.connect(self.path, isReadOnly: false)
        try connection.exclusively { try Schema.prepare($0) }
        let crashed = self.folder.file("crashed.db")
        for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: self.path + end, toPath: crashed + end) }
        try connection.close()
        let contents = { ["", "-wal"].map { FileManager.default.contents(atPath: crashed + $0) } }
        let before = contents()
        #expect(before[1]?.isEmpty == false)
        #expect(try SQLiteDatabase(path: crashed).inspect().missingMigrations == [])
        #expect(contents() == before)
    }

    private static func descriptor(of path: String) throws -> Int32? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").lazy.compactMap(Int32.init).first {
            // A descriptor that was closed meanwhile has no destination.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }

    /// If the store followed the link, it would empty the link's target.
    @Test(arguments: ["", ".lock"]) func linkInPlaceOfTheFileIsNotFollowed(suffix: String) throws {
        let (file, text) = (self.folder.file("other"), Data("kept".utf8))
        for isHard in [false, true] {
            try text.write(to: URL(fileURLWithPath: file))
            let link = self.path + suffix
            try? FileManager.default.removeItem(atPath: link)
            if isHard {
                try FileManager.default.linkItem(atPath: file, toPath: link)
            } else {
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            }
            #expect(throws: StoreError.self) { _ = close(try openStateFile(link)) }
            if suffix == ".lock" { #expect(throws: StoreError.self) { _ = try LockFile(forDatabase: self.path) } }
            #expect(FileManager.default.contents(atPath: file) == text)
        }
    }
}
