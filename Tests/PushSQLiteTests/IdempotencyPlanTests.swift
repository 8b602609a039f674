import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct IdempotencyPlanTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    @Test(arguments: [
        ("select request from idempotency where key = x'00' and created_at > 1", "USING PRIMARY KEY"),
        ("select key from idempotency where created_at <= 1 order by created_at limit 9", "idempotency_by_creation"),
    ])
    func idempotencyQueriesUseTheirIndexes(query: String, index: String) async throws {
        let plan = try await self.fixture.sqlite.writer.write { db in
            try db.plan(of: query).joined(separator: "\n")
        }
        #expect(plan.contains(index), "\(plan)")
    }
}
