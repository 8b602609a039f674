import Foundation
import PostgreSQL
import PushTesting
import Testing

/// A commit that the pool sends together with the last statements.
@Suite(.timeLimit(.minutes(5))) struct CommitWithStatementsTests {
    private static let schema = "create table t(n int8 primary key); insert into t(n) values (1)"

    private static func insertion() throws -> Statement { try Statement("insert into t(n) values ($1)", Int64(2)) }

    @Test func statementsSentWithTheCommitAreStored() async throws {
        try await withPool(Self.schema) { fixture in
            let counts = try await fixture.pool.transaction { transaction in
                _ = try await transaction.query("insert into t(n) values (3)")
                let rows = try await transaction.commit(after: [Self.insertion(), Statement("select count(*) from t")])
                #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 3)
                let next = await failure { _ = try await transaction.query("select 1") }
                #expect(next?.code == "25P01")
                return try rows.map { try $0.first?.integer(0) }
            }
            #expect(counts == [nil, 3])
            #expect(try fixture.openTransactions() == 0)
        }
    }

    @Test(
        arguments: [
            ("insert into t(n) values (1)", "23505"), ("select 1 / (count(*) = 0)::int from t", "22012"),
            ("select nothing", "42703"),
        ]
    )
    func nothingIsStoredIfAStatementSentWithTheCommitFails(sql: String, code: String) async throws {
        try await withPool(Self.schema) { fixture async throws in
            let pids = Counter()
            for statements in try [[Self.insertion(), Statement(sql)], [Statement(sql), Self.insertion()]] {
                let error = await failure {
                    try await fixture.pool.transaction { transaction in
                        _ = pids.increment()
                        _ = try await transaction.query("insert into t(n) values (3)")
                        _ = try await transaction.commit(after: statements)
                    }
                }
                #expect(error?.code == code)
                #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 1)
                #expect(try fixture.openTransactions() == 0)
            }
            #expect(pids.value == 2)
            // The connection is still usable for the next transaction.
            try await fixture.pool.transaction { _ = try await $0.commit(after: [Self.insertion()]) }
            #expect(await fixture.pool.counters().lost == 0)
        }
    }

    /// The insert is not stored here, but a caller whose connection was lost cannot know that.
    @Test func aLostConnectionGivesAnUnknownOutcome() async throws {
        try await withPool(Self.schema) { fixture async throws in
            let runs = Counter()
            async let outcome = failure {
                try await fixture.pool.transaction { transaction in
                    _ = runs.increment()
                    _ = try await transaction.query("insert into t(n) values (3)")
                    _ = try await transaction.commit(after: [Statement("select 1 from pg_sleep(60)"), Self.insertion()])
                }
            }
            let other = try fixture.other()
            let sleeping = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
            try await eventually { try other.query("select count(*) \(sleeping)").first?.integer(0) == 1 }
            _ = try other.query("select pg_terminate_backend(pid) \(sleeping)")
            #expect(await outcome?.isUnknown == true)
            #expect(runs.value == 1)
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 1)
        }
    }

    @Test func aDeferredViolationStoresNothing() async throws {
        let deferred = "create table u(n int8 unique deferrable initially deferred); insert into u values (1)"
        try await withPool(deferred) { fixture async throws in
            let error = await failure {
                try await fixture.pool.transaction {
                    _ = try await $0.commit(after: [Statement("insert into u values (1), (2)")])
                }
            }
            #expect(error?.code == "23505")
            #expect(try await fixture.pool.query("select count(*) from u").first?.integer(0) == 1)
            #expect(try fixture.openTransactions() == 0)
        }
    }
}
