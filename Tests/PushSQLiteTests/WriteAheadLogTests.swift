import Foundation
import Glibc
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(15))) struct WriteAheadLogTests {
    /// Readers with a permanently open transaction keep SQLite from restarting its log by itself.
    @Test func logStaysShortDespiteConstantReaders() async throws {
        let fixture = try StoreFixture()
        try await fixture.sqlite.writer.write { try $0.execute(sql: "create table page (content blob)") }
        let isDone = Flag()
        // The readers run on their own threads, because they never suspend.
        for _ in 0..<2 {
            let reader = try fixture.sqlite.makeSQLiteReader()
            Thread.detachNewThread {
                while !isDone.value { _ = try? reader.tallies() }
            }
        }
        defer { isDone.raise() }
        // A log that never restarts only gets longer. The test writes until it is clear that the
        // log restarts, which may take long if the readers' threads are preempted during a read.
        var (longest, moved) = (0, 0)
        for _ in 0..<1000 where moved < longest + 16 << 20 {
            try await fixture.sqlite.writer.write { db in
                try db.execute(
                    sql: """
                        with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
                        insert into page select randomblob(900) from n
                        """
                )
            }
            longest = try Self.size(of: fixture.sqlite.path + "-wal")
            moved = try Self.size(of: fixture.sqlite.path)
        }
        #expect(moved >= longest + 16 << 20, "\(moved) bytes, and \(longest) in the log")
    }

    /// No request fails, so the server stays ready, and no line of the log has to end an outage.
    @Test func aCheckpointDuringThatOfAnotherProgramIsNoOutage() async throws {
        let fixture = try StoreFixture(.sqlite)
        try await fixture.addUser("alice")
        let descriptor = open(fixture.sqlite.path + "-shm", O_RDWR | O_CLOEXEC)
        // SQLite's lock WAL_CKPT_LOCK (wal.c), taken as F_OFD_SETLK by another owner.
        var lock = Glibc.flock()
        (lock.l_type, lock.l_start, lock.l_len) = (Int16(F_WRLCK), 121, 1)
        try #require(fcntl(descriptor, 37, &lock) == 0)
        let writer = fixture.sqlite.writer
        writer.state.withLock { $0.checkpointsAt = 0 }
        try await writer.write { _ in }
        try await eventually { writer.state.withLock { $0.checkpointFailures } > 0 }
        #expect(!writer.condition.isOut)
        await fixture.store.close()
        close(descriptor)
    }

    private static func size(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    private final class Flag: Sendable {
        private let isRaised = Atomic(false)

        var value: Bool { self.isRaised.load(ordering: .relaxed) }

        func raise() {
            self.isRaised.store(true, ordering: .relaxed)
        }
    }
}
