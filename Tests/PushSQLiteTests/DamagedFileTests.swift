import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// A file with a damaged page that the store could open, because SQLite had not read this page.
@Suite(.timeLimit(.minutes(5))) struct DamagedFileTests {
    /// Overwrites the first pages of the table `token` and its indexes, and opens the store again.
    private func reopened(_ fixture: StoreFixture, options: StoreOptions) async throws -> StoreFixture {
        let path = fixture.sqlite.path
        await fixture.store.close()
        let connection = try Connection(path: path)
        let pages = try connection.exclusively {
            try Int.fetchAll($0, sql: "select rootpage from sqlite_schema where tbl_name = 'token' and rootpage > 0")
        }
        try connection.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        for page in pages {
            try file.seek(toOffset: UInt64((page - 1) * Writer.pageSize))
            try file.write(contentsOf: Data(repeating: 0xFF, count: Writer.pageSize))
        }
        try file.close()
        return try fixture.reopened(options: options)
    }

    @Test(arguments: [true, false]) func damageIsReportedOnceAndTheStoreIsNotReady(isRead: Bool) async throws {
        let intact = try StoreFixture()
        let alice = try await intact.addUser("alice")
        let reports = Mutex(0)
        var options = StoreOptions()
        options.onEvent = { event in
            if case .fileDamaged = event { reports.withLock { $0 += 1 } }
        }
        let fixture = try await self.reopened(intact, options: options)
        #expect(fixture.store.refusal == nil && !fixture.store.isUnusable)
        try await fixture.post(1, from: alice, to: "username:alice")
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) {
                if isRead {
                    _ = try await fixture.reader.tokens(of: nil, after: nil, limit: 9, now: fixture.now)
                } else {
                    let (now, end) = (fixture.now, fixture.now + 60)
                    _ = try await fixture.store.addToken(for: alice.name, scopes: .fetch, expiresAt: end, now: now)
                }
            }
            guard case .damagedFile = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(error?.isConfiguration == true)
        }
        #expect(fixture.store.refusal == "the database's file is damaged" && fixture.store.isUnusable)
        #expect(reports.withLock { $0 } == 1)
        // Other pages can still be read.
        #expect(try await fixture.user("alice").id == alice.id)
        // The restore would discard further posts, although none of them needs a damaged page.
        let refused = await #expect(throws: StoreError.self) {
            try await fixture.post(2, from: alice, to: "username:alice")
        }
        guard case .damagedFile = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        await fixture.store.close()
    }

    /// SQLite reports a foreign lock on the index of the write-ahead log by a code of its own.
    @Test(arguments: [
        (ResultCode.busy, "the database is unavailable: another program"),
        (.lockingProtocol, "the database is unavailable: another program"),
        (.corrupt, "the database's file is damaged"), (.notADatabase, "the database's file is damaged"),
        (.constraint, "the database failed"),
    ])
    func aFailureNamesItsCause(code: ResultCode, start: String) {
        #expect("\(StoreError(DatabaseError(resultCode: code)))".hasPrefix(start))
    }
}
