import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// Jobs that are committed together. A failing job must not affect the others.
@Suite(.timeLimit(.minutes(5))) struct WriterTests {
    private let fixture: StoreFixture
    private var writer: Writer { self.fixture.sqlite.writer }

    init() async throws {
        self.fixture = try StoreFixture()
        try await self.fixture.sqlite.writer.write { try $0.execute(sql: "create table done (name text)") }
    }

    private struct Refused: Error {}

    private func insert(_ name: String) -> @Sendable (Database) throws -> Void {
        { try $0.run("insert into done (name) values (?)", name) }
    }

    private func done() async throws -> [String] {
        try await self.writer.write { try String.fetchAll($0, sql: "select name from done order by name") }
    }

    /// Keeps the writer busy until all jobs of `body` wait, so that they are committed together.
    private func together(
        in writer: Writer? = nil,
        _ works: [@Sendable (Database) throws -> Void],
        lane: WriterLane = .request
    ) async throws -> [Result<Void, any Error>] {
        let writer = writer ?? self.writer
        return try await withThrowingTaskGroup(of: (Int, Result<Void, any Error>).self) { group in
            try await writer.holding(until: works.count) {
                for (number, work) in works.enumerated() {
                    group.addTask {
                        do {
                            return (number, .success(try await writer.write(lane, work)))
                        } catch {
                            return (number, .failure(error))
                        }
                    }
                }
            }
            var results = [Result<Void, any Error>](repeating: .success(()), count: works.count)
            for try await (number, result) in group { results[number] = result }
            return results
        }
    }

    @Test func writesThatShareACommitAreCounted() async throws {
        let before = try #require(self.fixture.sqlite.report.commits)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try await self.writer.write { try self.insert("\(number)")($0) } }
            }
            try await group.waitForAll()
        }
        // This job changes nothing, so it does not wait for the disk. It ends only after all
        // earlier commits were counted.
        _ = try await self.done()
        let after = try #require(self.fixture.sqlite.report.commits)
        #expect(after.writes - before.writes == 50)
        #expect((1...50).contains(after.times.total - before.times.total))
    }

    @Test(.timeLimit(.minutes(5)))
    func failedWriteIsUndoneAloneAndOthersCommitOnce() async throws {
        let refused: @Sendable (Database) throws -> Void = { db in
            try db.run("insert into done (name) values ('refused')")
            throw Refused()
        }
        let results = try await self.together([self.insert("a"), refused, self.insert("b"), self.insert("c")])
        #expect(try await self.done() == ["a", "b", "c"])
        #expect(throws: Refused.self) { try results[1].get() }
        for number in [0, 2, 3] { #expect(throws: Never.self) { try results[number].get() } }
        #expect(self.writer.state.withLock { $0.repeated } == 1)
    }

    /// A job that meets a damaged page ends the whole transaction. The jobs that did not read this
    /// page must still succeed.
    @Test(.timeLimit(.minutes(5)))
    func writeThatEndsTheTransactionFailsAlone() async throws {
        let corrupt: @Sendable (Database) throws -> Void = { _ in throw DatabaseError(resultCode: .corrupt) }
        let results = try await self.together([self.insert("a"), corrupt, self.insert("b")])
        #expect(try await self.done() == ["a", "b"])
        #expect(throws: StoreError.self) { try results[1].get() }
        #expect(self.fixture.store.failure == nil)
    }

    @Test(.timeLimit(.minutes(5)))
    func timedOutRequestIsNotExecuted() async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions()
        options.writeTimeout = .zero
        let store = try SQLiteStore(path: folder.file("test.db"), keyring: self.fixture.keyring, options)
        try await store.writer.write(.delivery) { try $0.execute(sql: "create table done (name text)") }
        let requests = try await self.together(in: store.writer, [self.insert("request")])
        #expect(throws: StoreError.self) { try requests[0].get() }
        let settlements = try await self.together(in: store.writer, [self.insert("settlement")], lane: .delivery)
        #expect(throws: Never.self) { try settlements[0].get() }
        let done = try await store.writer.write(.delivery) { try String.fetchAll($0, sql: "select name from done") }
        #expect(done == ["settlement"])
        await store.close()
    }

    // MARK: Receipts

    @Test func receiptsOfOneRowAreMergedAndTheEarliestCounts() {
        let book = ReceiptBook(limit: 3)
        #expect(book.record([2, 1], by: 7, at: 5) == .first)
        #expect(book.record([2], by: 7, at: 9) == .added)
        #expect(book.record([2], by: 8, at: 9) == .added)
        #expect(book.record([3], by: 8, at: 9) == .dropped)
        #expect(book.dropped == 1)
        let taken = book.take(2)
        #expect(taken.map(\.key.notification) == [1, 2])
        #expect(taken.map(\.fetchedAt) == [5, 5])
        book.putBack(taken)
        #expect(book.take(10).map { [$0.key.notification, $0.key.user] } == [[1, 7], [2, 7], [2, 8]])
        #expect(book.record([1], by: 7, at: 1) == .first)
    }

    @Test(.timeLimit(.minutes(5)))
    func unwritableReceiptIsSetAsideAndOthersAreWritten() async throws {
        let alice = try await self.fixture.addUser("alice")
        for number in Int64(1)...3 { try await self.fixture.post(number, from: alice, to: "username:alice") }
        try await self.writer.write {
            try $0.execute(
                sql: """
                    create trigger damage before update of fetched_at on recipient when old.notification_id = 2
                    begin select raise(abort, 'damaged'); end
                    """
            )
        }
        let ids = (Int64(1)...3).compactMap(NotificationID.init)
        self.fixture.store.recordFetches(of: ids, by: alice.id, now: self.fixture.now)
        try await self.fixture.store.writeReceipts()
        let fetched = try await self.writer.write {
            try Int64.fetchAll($0, sql: "select notification_id from recipient where fetched_at is not null order by 1")
        }
        #expect(fetched == [1, 3])
        let report = self.fixture.store.report
        #expect(report.setAside == 1)
        #expect(report.receiptsWaiting == 0)
    }

    // MARK: Rows that are damaged

    @Test func pushThatCannotBeLeasedFailsAlone() async throws {
        let alice = try await self.fixture.addUser("alice")
        for number in 1...3 { try await self.fixture.addDevice(of: alice, handle: "d-\(number)") }
        try await self.fixture.post(1, from: alice, to: "username:alice")
        try await self.writer.write {
            try $0.execute(
                sql: """
                    create trigger damage before update on push when old.device = (select number from device order by number limit 1 offset 1)
                        and new.state = 'sending'
                    begin select raise(abort, 'damaged'); end
                    """
            )
        }
        let leased = try await self.fixture.lease()
        #expect(leased.map(\.push.handle).sorted() == ["d-1", "d-3"])
        let tally = try #require(try await self.fixture.reader.tallies()["apns"])
        #expect(tally.failed == 1)
        #expect(tally.pending == 2)
        #expect(self.fixture.store.report.setAside == 1)
    }

    @Test func aPushToADamagedAddressFailsAloneAndIsCounted() async throws {
        let alice = try await self.fixture.addUser("alice")
        for number in 1...3 { try await self.fixture.addDevice(of: alice, handle: "d-\(number)") }
        try await self.fixture.post(1, from: alice, to: "username:alice")
        try await self.writer.write {
            try $0.execute(
                sql: """
                    update device set handle = (select handle from device order by number limit 1)
                    where number = (select number from device order by number limit 1 offset 1)
                    """
            )
        }
        #expect(try await self.fixture.lease().map(\.push.handle).sorted() == ["d-1", "d-3"])
        #expect(try await self.fixture.reader.tallies()["apns"]?.failed == 1)
        #expect(self.fixture.store.report.setAside == 1)
    }

    @Test func unwritableSettlementDoesNotBlockItsBatch() async throws {
        let alice = try await self.fixture.addUser("alice")
        for number in 1...3 { try await self.fixture.addDevice(of: alice, handle: "d-\(number)") }
        try await self.fixture.post(1, from: alice, to: "username:alice")
        let leased = try await self.fixture.lease()
        try await self.writer.write {
            try $0.execute(
                sql: """
                    create trigger damage before update on push
                    when old.device = (select number from device order by number limit 1 offset 1)
                    begin select raise(abort, 'damaged'); end
                    """
            )
        }
        try await self.fixture.store.settle(leased.map { ($0, .accepted(providerID: nil)) }, now: self.fixture.now)
        #expect(try await self.fixture.reader.tallies()["apns"]?.accepted == 2)
        #expect(self.fixture.store.report.setAside == 1)
    }

    // MARK: The log

    @Test func logKeptLongByAReaderIsReported() async throws {
        let (folder, events) = (try TemporaryFolder(), Events())
        let path = folder.file("test.db")
        var options = StoreOptions()
        options.onEvent = { events.add($0) }
        let store = try SQLiteStore(path: path, keyring: self.fixture.keyring, options)
        try await store.writer.write { try $0.execute(sql: "create table page (content blob)") }
        // A reader of another program, which the store cannot ask to end its transaction.
        let reader = try Connection(path: store.path, isReadOnly: true)
        try reader.exclusively { db in
            try db.run("begin")
            _ = try Int.fetchOne(db, sql: "select count(*) from page")
        }
        store.writer.state.withLock { ($0.checkpointsAt, $0.warnsOfLogAt) = (30, 20) }
        for _ in 0..<40 {
            try await store.writer.write { try $0.execute(sql: "insert into page values (randomblob(4000))") }
        }
        #expect(store.report.logBytes > 40 * 4000)
        #expect(events.all.contains { if case .logIsLong = $0 { true } else { false } })
        try reader.close()
        await store.close()
    }

    private final class Events: Sendable {
        private let events = Mutex<[StoreEvent]>([])

        var all: [StoreEvent] { self.events.withLock { $0 } }

        func add(_ event: StoreEvent) { self.events.withLock { $0.append(event) } }
    }
}
