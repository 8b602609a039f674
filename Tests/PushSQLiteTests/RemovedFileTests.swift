import Foundation
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// The database's file, its log, the log's index or its lock file is removed or replaced while
/// the store is open. SQLite still writes to the old file, which is lost once the process ends.
/// Without the index, another program would not see the server's locks. And without the lock
/// file, another server could write the same database.
@Suite(.timeLimit(.minutes(5))) struct RemovedFileTests {
    /// A post notices it, and so does `/readyz`, which asks for `failure`.
    @Test(
        arguments: [
            ("", true), ("", false), ("-wal", true), ("-wal", false), ("-shm", true), ("-shm", false), (".lock", true),
            (".lock", false),
        ],
        [true, false]
    )
    func noFurtherPostIsAcknowledged(file: (end: String, isReplaced: Bool), isNoticedByPost: Bool) async throws {
        let reports = Mutex<[StoreEvent]>([])
        var options = StoreOptions()
        options.onEvent = { event in
            if case .broken = event { reports.withLock { $0.append(event) } }
        }
        let fixture = try StoreFixture(.sqlite, options: options)
        let alice = try await fixture.addUser("alice")
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(fixture.store.failure == nil)
        let path = fixture.sqlite.path + file.end
        try FileManager.default.removeItem(atPath: path)
        if file.isReplaced { try Data("another file".utf8).write(to: URL(fileURLWithPath: path)) }
        if !isNoticedByPost { #expect(fixture.store.failure != nil) }
        let reason = """
            the file \(path) was removed or replaced while the server ran; remove the foreign file, or restore \
            (docs/troubleshooting.md)
            """
        for number in Int64(2)...3 {
            let error = await #expect(throws: StoreError.self) {
                try await fixture.post(number, from: alice, to: "username:alice")
            }
            #expect("\(try #require(error))" == "\(StoreError.broken(reason: reason))")
        }
        #expect(fixture.store.failure == reason)
        #expect(reports.withLock { $0 } == [.broken(reason: reason, needsOperator: true)])
        await fixture.store.close()
    }

    /// A killed process leaves the database's file without the removed log.
    @Test(arguments: [true, false]) func noAcknowledgedPostIsLostWithTheLog(isNoticedByPost: Bool) async throws {
        let fixture = try StoreFixture(.sqlite)
        let (alice, path) = (try await fixture.addUser("alice"), fixture.sqlite.path)
        for number in Int64(1)...9 { try await fixture.post(number, from: alice, to: "username:alice") }
        try FileManager.default.removeItem(atPath: path + "-wal")
        if isNoticedByPost {
            await #expect(throws: StoreError.self) { try await fixture.post(10, from: alice, to: "username:alice") }
        }
        #expect(fixture.store.failure != nil)
        try FileManager.default.copyItem(atPath: path, toPath: path + ".killed")
        let killed = try Connection(path: path + ".killed")
        let count = try killed.exclusively { try Int.fetchAll($0, sql: "select count(*) from notification") }
        // The client of the tenth post knows that its post may be stored.
        #expect(count == [isNoticedByPost ? 10 : 9])
        try killed.close()
        await fixture.store.close()
    }

    /// SQLite empties the log and begins it again, but the file stays the same.
    @Test(arguments: [Database.CheckpointMode.passive, .restart, .truncate])
    func aCheckpointIsNoRemoval(mode: Database.CheckpointMode) async throws {
        let fixture = try StoreFixture(.sqlite)
        let (alice, writer) = (try await fixture.addUser("alice"), fixture.sqlite.writer)
        for number in Int64(1)...3 {
            try await fixture.post(number, from: alice, to: "username:alice")
            let isReset = try writer.onConnection { try writer.checkpoint($0) != nil && writer.resetLog(mode, $0) }
            #expect(isReset)
            // The last connection of another program leaves the log to the server.
            let other = try Connection(path: fixture.sqlite.path)
            #expect(try other.exclusively { try Int.fetchAll($0, sql: "select count(*) from account") } == [1])
            try other.close()
            #expect(fixture.store.failure == nil)
        }
        await fixture.store.close()
    }
}
