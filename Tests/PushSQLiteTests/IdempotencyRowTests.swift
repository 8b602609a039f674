import Foundation
import Migrations
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The row of a request with an idempotency key stores how many users and pushes the request
/// reached. Tests these two counts.
@Suite(.timeLimit(.minutes(5))) struct IdempotencyRowTests {
    private let fixture: StoreFixture
    private let alice: User
    private let request = IdempotentRequest(key: Data(repeating: 1, count: 16), request: Data(repeating: 2, count: 16))

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func rows() async throws -> [String] {
        try await self.fixture.sqlite.writer.write { db in
            try String.fetchAll(
                db,
                sql: "select coalesce(recipients, 'null') || ' ' || coalesce(pushes, 'null') from idempotency"
            )
        }
    }

    @Test(arguments: [(1, "null null"), (100, "1 2")])
    func countsAreStoredIfTheyAreComplete(page: Int, counts: String) async throws {
        for handle in ["a1", "a2"] { try await self.fixture.addDevice(of: self.alice, handle: handle, tags: ["news"]) }
        _ = try await self.fixture.post(1, from: self.alice, to: "news", once: self.request, page: page)
        #expect(try await self.rows() == [counts])
    }

    /// Before the migration, the first answer had no counts. The answer to a retry therefore has
    /// none, either.
    @Test func aRowFromBeforeTheMigrationHasNoCounts() async throws {
        let connection = try Connection()
        try connection.exclusively { db in
            try Schema.prepare(db, Array(Migration.all.prefix { $0.name < "M0006" }))
            try db.execute(
                sql: """
                    insert into idempotency (key, request, notification_id, created_at, expires_at)
                    values (zeroblob(16), zeroblob(16), 1, 0, 1)
                    """
            )
            try Schema.prepare(db)
            let request = IdempotentRequest(key: Data(count: 16), request: Data(count: 16))
            let outcome = try PostSearch(db, now: Date(timeIntervalSince1970: 1)).earlier(request)?.outcome(of: request)
            guard case .repeated(_, _, _, reach: nil) = outcome else {
                Issue.record("\(String(describing: outcome))")
                return
            }
        }
    }
}
