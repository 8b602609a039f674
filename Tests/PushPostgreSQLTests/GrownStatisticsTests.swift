import PostgreSQL
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// A table that was empty when PostgreSQL analyzed it is analyzed again once it has many rows.
@Suite(.timeLimit(.minutes(5))) struct GrownStatisticsTests {
    private let store: PostgreSQLStore
    private let connection: BlockingConnection

    init() throws {
        let fixture = try StoreFixture(.postgreSQL)
        self.store = try #require(fixture.store as? PostgreSQLStore)
        self.connection = try fixture.connect()
    }

    private func insert(_ count: Int) throws {
        try self.connection.execute(
            """
            insert into collapse (device, collapse_id, notification_id, sequence)
                select n, 'a', n, n from generate_series(1, \(count)) as n
            """
        )
        _ = try self.connection.query("select pg_stat_force_next_flush()")
    }

    /// The number of rows that the planner expects.
    private func expected() throws -> Int64 {
        try self.connection.query("select reltuples::int8 from pg_class where relname = 'collapse'")[0].integer(0)
    }

    @Test(arguments: [(1000, 0), (1001, 1001)] as [(Int, Int64)])
    func aTableIsAnalyzedAfterItHasGrown(rows: Int, counted: Int64) async throws {
        try self.connection.execute("alter table collapse set (autovacuum_enabled = off)")
        try self.insert(10_000)
        try self.connection.execute("delete from collapse; analyze collapse")
        #expect(try self.expected() == 0)
        try self.insert(rows)
        try await self.store.analyzeGrownTables()
        #expect(try self.expected() == counted)
    }
}
