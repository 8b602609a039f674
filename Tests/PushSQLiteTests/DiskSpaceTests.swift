import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// A disk that is full for a while. The test simulates it with SQLite's limit of pages, which has
/// the same effect.
@Suite(.timeLimit(.minutes(5))) struct DiskSpaceTests {
    @Test func fullDiskIsReportedOnceAndRecovers() async throws {
        let folder = try TemporaryFolder()
        let events = Mutex<[StoreEvent]>([])
        let keyring = try Keyring(text: Keyring.generateText())
        var options = StoreOptions()
        options.onEvent = { event in
            if case .broken = event { Issue.record("only a restart would help") }
            events.withLock { $0.append(event) }
        }
        let store = try SQLiteStore(path: folder.file("test.db"), keyring: keyring, options)
        try await store.writer.write { db in
            try db.execute(sql: "create table filling (bytes blob) strict")
            let count = try Int.fetchOne(db, sql: "pragma page_count") ?? 0
            try db.execute(sql: "pragma max_page_count = \(count + 10)")
        }
        for _ in 0..<3 {
            let error = await #expect(throws: StoreError.self) {
                try await store.writer.write { try $0.execute(sql: "insert into filling values (zeroblob(100000))") }
            }
            guard case .full = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(events.withLock { $0 }.first == .diskFull)
        // Work that takes no space still succeeds, and the store recovers as soon as there is free
        // space.
        try store.writer.connection.exclusively { db in
            try db.execute(sql: "pragma max_page_count = 1000000")
        }
        try await eventually { !store.isFull }
        try await store.writer.write { try $0.execute(sql: "insert into filling values (zeroblob(100000))") }
        #expect(events.withLock { $0.last } == .roomAgain)
        #expect(events.withLock { $0.count { $0 == .diskFull } <= 3 })
        await store.close()
    }
    /// On a small disk, the write-ahead log itself may fill the space. The store can then free
    /// space only by truncating the log.
    @Test func logShrinksWhenTheDiskIsFull() async throws {
        let fixture = try StoreFixture()
        let (store, log) = (fixture.sqlite, fixture.sqlite.path + "-wal")
        try await store.writer.write { db in
            try db.execute(sql: "create table filling (bytes blob) strict")
            try db.execute(sql: "insert into filling values (zeroblob(4000000))")
        }
        #expect(try Self.length(of: log) > 4_000_000)
        store.writer.recordFull()
        #expect(store.isFull)
        try await eventually { !store.isFull }
        // The log now has only the commits by which the store checks whether it can write again.
        #expect(try Self.length(of: log) < 100_000)
        #expect(store.report.logBytes < 100_000)
        await store.close()
    }

    private static func length(of file: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? -1
    }
}
