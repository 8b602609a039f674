import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

/// The store measures the duration of SQLite's sync calls. The measured calls must still sync the
/// files.
@Suite(.timeLimit(.minutes(5))) struct SyncTimesTests {
    private let fixture: StoreFixture

    init() throws {
        // The database is on the disk, because syncs of a file system in memory take no time.
        self.fixture = try StoreFixture(in: TemporaryFolder(on: .disk))
    }

    private func syncs() throws -> (log: Int, database: Int) {
        let syncs = try #require(self.fixture.store.report.syncs)
        return (syncs.log.total, syncs.database.total)
    }

    @Test func eachCommitWaitsForOneSyncOfTheLog() async throws {
        _ = try await self.fixture.addUser("first")
        let before = self.fixture.store.report
        for number in 1...5 { _ = try await self.fixture.addUser("user\(number)") }
        let after = self.fixture.store.report
        let (syncs, earlier) = (try #require(after.syncs), try #require(before.syncs))
        #expect(syncs.log.total - earlier.log.total == 5)
        #expect(syncs.database == earlier.database)
        // The test compares only the increase, because earlier syncs may belong to commits that
        // are not counted.
        let time = syncs.log.microseconds - earlier.log.microseconds
        let commits = try #require(after.commits?.times.microseconds) - #require(before.commits?.times.microseconds)
        #expect(time > 0 && time <= commits)
    }

    @Test func aCheckpointWaitsForTheLogAndForTheFile() async throws {
        _ = try await self.fixture.addUser("first")
        let before = try self.syncs()
        try await self.fixture.sqlite.writer.write { _ in }
        _ = try await self.fixture.sqlite.wipe()
        let after = try self.syncs()
        #expect(after.database > before.database)
    }

    /// The store replaces SQLite's method `xClose`. The replacement must call the original method,
    /// which frees the file's memory.
    @Test func aStoreThatIsClosedHasAllThatWasStored() async throws {
        _ = try await self.fixture.addUser("first")
        let syncs = self.fixture.sqlite.writer.syncs
        await self.fixture.store.close()
        // When the last connection closes, SQLite checkpoints the log, and so syncs both files.
        #expect(syncs.all.log.total > 0 && syncs.all.database.total > 0)
        let again = try self.fixture.reopened()
        #expect(try await again.user("first").name.description == "first")
    }
}
