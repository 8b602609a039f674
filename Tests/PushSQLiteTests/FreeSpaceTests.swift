import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// The store returns free space to the file system, in steps that do not block other work.
@Suite(.timeLimit(.minutes(5))) struct FreeSpaceTests {
    private let folder: TemporaryFolder
    private let keyring: Keyring

    init() throws {
        self.folder = try TemporaryFolder()
        self.keyring = try Keyring(text: Keyring.generateText())
    }

    private func open(_ options: StoreOptions = StoreOptions()) throws -> SQLiteStore {
        try SQLiteStore(path: self.folder.file("a.db"), keyring: self.keyring, options)
    }

    /// Stores rows of `mebibytes` MiB, and deletes all but every tenth row.
    private func growAndThin(_ store: SQLiteStore, mebibytes: Int) async throws {
        try await store.writer.write {
            try $0.execute(sql: "create table filling (id integer primary key, bytes blob)")
        }
        for _ in 0..<mebibytes {
            try await store.writer.write { db in
                try db.execute(
                    sql: """
                        with recursive n(i) as (select 1 union all select i + 1 from n where i < 512)
                        insert into filling (bytes) select randomblob(2000) from n
                        """
                )
            }
        }
        try await store.writer.write { try $0.execute(sql: "delete from filling where id % 10 <> 0") }
        #expect(try await store.wipe())
    }

    private func length(of name: String = "a.db") throws -> Int {
        try FileManager.default.attributesOfItem(atPath: self.folder.file(name))[.size] as? Int ?? 0
    }

    private func makeOfOlderVersion(bytes: Int) throws {
        let connection = try Connection(path: self.folder.file("a.db"))
        try connection.exclusively { db in
            try Schema.prepare(db)
            try db.execute(sql: "insert into collapse values (0, hex(randomblob(\(bytes / 2))), 0, 0)")
            #expect(try Int.fetchOne(db, sql: "pragma auto_vacuum") == 0)
        }
        try connection.close()
    }

    private func canShrink(_ name: String) throws -> Bool {
        try Connection.readOnly(path: self.folder.file(name)).read { try FileSpace($0).canShrink }
    }

    @Test func fileShrinksAndKeepsItsContent() async throws {
        let events = Mutex<[StoreEvent]>([])
        var options = StoreOptions()
        options.onEvent = { event in events.withLock { $0.append(event) } }
        let store = try self.open(options)
        try await self.growAndThin(store, mebibytes: 24)
        let kept = "select count(*) || ' ' || sum(length(bytes)) || hex(min(bytes)) from filling"
        let before = try await store.writer.write { try String.fetchOne($0, sql: kept) }
        let length = try self.length()
        let given = try await store.giveSpaceBack(pause: .zero)
        #expect(given > 12 << 20)
        #expect(try await store.wipe())
        #expect(try self.length() == length - given)
        #expect(try await store.writer.write { try String.fetchOne($0, sql: kept) } == before)
        let damage = try await store.writer.write { try String.fetchAll($0, sql: "pragma integrity_check") }
        #expect(damage == ["ok"])
        #expect(events.withLock { $0 } == [.spaceGivenBack(bytes: given)])
        #expect(store.report.file?.bytes == length - given)
        // The store keeps the remaining free space as a reserve.
        #expect(try await store.giveSpaceBack(pause: .zero) == 0)
        await store.close()
    }

    @Test func writesRunBetweenSmallShrinkingSteps() async throws {
        let store = try self.open()
        try await self.growAndThin(store, mebibytes: 24)
        var space = try #require(try await store.writer.fileSpace())
        for _ in 0..<20 {
            let next = try await store.writer.shrink()
            // One more page may be removed: a pointer map page, if the last page that it describes
            // is removed.
            #expect((1...Writer.shrinkPages + 1).contains(space.pages - next.pages))
            try await store.writer.write { try $0.execute(sql: "insert into filling (bytes) values (randomblob(100))") }
            space = try #require(try await store.writer.fileSpace())
        }
        await store.close()
    }

    /// The file shrinks while other writes run, and the store loses no write.
    @Test func storeShrinksItsFileByItself() async throws {
        let store = try self.open()
        try await self.growAndThin(store, mebibytes: 24)
        let before = try self.length()
        var writes = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await store.run() }
            try await eventually {
                try await store.writer.write {
                    try $0.execute(sql: "insert into filling (bytes) values (randomblob(100))")
                }
                writes += 1
                _ = try await store.wipe()
                return try self.length() < before - (12 << 20)
            }
            group.cancelAll()
            try await group.waitForAll()
        }
        let kept = "select count(*) from filling where length(bytes) = 100"
        #expect(try await store.writer.write { try Int.fetchOne($0, sql: kept) } == writes)
        await store.close()
    }

    @Test func openReaderKeepsItsSnapshot() async throws {
        let store = try self.open()
        try await self.growAndThin(store, mebibytes: 24)
        let other = try SQLiteStore.connect(self.folder.file("a.db"), isReadOnly: true)
        let sum = "select sum(length(bytes)) from filling"
        try other.exclusively { try $0.execute(sql: "begin") }
        let before = try other.exclusively { try Int.fetchOne($0, sql: sum) }
        try await store.writer.write { try $0.execute(sql: "delete from filling where id % 20 <> 0") }
        try await store.giveSpaceBack(pause: .zero)
        // Because of the reader's transaction, the log cannot be checkpointed completely, so
        // nothing is wiped yet.
        #expect(try await !store.wipe())
        #expect(try other.exclusively { try Int.fetchOne($0, sql: sum) } == before)
        try other.exclusively { try $0.execute(sql: "commit") }
        #expect(try await store.wipe())
        #expect(try self.length() < 12 << 20)
        try other.close()
        await store.close()
    }

    @Test func aSmallDatabaseOfAnOlderVersionIsRewrittenAtTheStart() async throws {
        try self.makeOfOlderVersion(bytes: 1 << 20)
        let store = try self.open()
        #expect(try await store.writer.fileSpace()?.canShrink == true)
        #expect(
            try await store.writer.write { try Int.fetchOne($0, sql: "select length(collapse_id) from collapse") } == 1
                << 20
        )
        await store.close()
        #expect(try self.canShrink("a.db"))
    }

    @Test func largeDatabaseOfAnOlderVersionStaysLong() async throws {
        try self.makeOfOlderVersion(bytes: FileSpace.rewritten)
        let events = Mutex<[StoreEvent]>([])
        var options = StoreOptions()
        options.onEvent = { event in events.withLock { $0.append(event) } }
        let store = try self.open(options)
        #expect(events.withLock { $0 } == [.fileStaysLong])
        #expect(try await store.writer.fileSpace()?.canShrink == false)
        #expect(try await store.giveSpaceBack(pause: .zero) == 0)
        await store.close()
        let copy = self.folder.file("copy.db")
        try SQLiteDatabase(path: self.folder.file("a.db")).backUp(to: copy, keyring: self.keyring)
        #expect(try self.canShrink("copy.db"))
    }

    @Test(arguments: [
        (pages: 1000, free: 900, begins: false, goesOn: false), (10_000, 1500, false, true), (10_000, 2100, true, true),
        (100_000, 15_000, false, true), (100_000, 25_000, true, true), (100_000, 11_000, false, false),
    ])
    func reserveStaysAndAFluctuatingFileKeepsItsLength(_ pages: Int, free: Int, begins: Bool, goesOn: Bool) {
        let space = FileSpace(pages: pages, free: free, canShrink: true)
        #expect(space.isWorthShrinking == begins)
        #expect(space.hasExcess == goesOn)
        #expect(!FileSpace(pages: pages, free: free, canShrink: false).hasExcess)
    }
}
