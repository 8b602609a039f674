import Foundation
import PostgreSQL
import PushTesting
import Testing

private let schema = "create table t(n int8 primary key, m int8 not null default 0); insert into t(n) values (1), (2)"

@Suite(.timeLimit(.minutes(5))) struct TransactionTests {
    private struct Refusal: Error {}

    @Test func aTransactionIsStoredAsAWhole() async throws {
        try await withPool(schema) { fixture in
            let count = try await fixture.pool.transaction { transaction in
                _ = try await transaction.query("insert into t(n) values ($1)", 3)
                let others = try await fixture.pool.query("select count(*) from t").first?.integer(0)
                #expect(others == 2)
                return try await transaction.query("select count(*) from t").first?.integer(0)
            }
            #expect(count == 3)
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 3)
        }
    }

    @Test func aThrownErrorRollsBackAndIsRethrown() async throws {
        try await withPool(schema) { fixture async throws in
            await #expect(throws: Refusal.self) {
                try await fixture.pool.transaction { transaction in
                    _ = try await transaction.query("delete from t")
                    throw Refusal()
                }
            }
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 2)
            #expect(try fixture.openTransactions() == 0)
        }
    }

    @Test func aFailedStatementEndsTheTransactionEvenIfItIsIgnored() async throws {
        try await withPool(schema) { fixture async throws in
            let error = await failure {
                try await fixture.pool.transaction { transaction in
                    _ = try await transaction.query("delete from t")
                    _ = try? await transaction.query("insert into t(n, m) values (5, null)")
                    let next = await failure { _ = try await transaction.query("select 1") }
                    #expect(next?.code == "25P02")
                }
            }
            #expect(error?.code == "23502")
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 2)
        }
    }

    @Test func statementsThatAreSentTogetherRunInTheirOrder() async throws {
        try await withPool(schema) { fixture in
            let counts = try await fixture.pool.transaction { transaction in
                try await transaction.query(all: [
                    Statement("select count(*) from t"), Statement("insert into t(n) values ($1)", 3),
                    Statement("select count(*) from t"),
                ]).map { try $0.first?.integer(0) }
            }
            #expect(counts == [2, nil, 3])
            #expect(try await fixture.pool.transaction { try await $0.query(all: []).count } == 0)
        }
    }

    @Test func theFirstFailureOfStatementsSentTogetherCounts() async throws {
        try await withPool(schema) { fixture async throws in
            let error = await failure {
                try await fixture.pool.transaction { transaction in
                    let error = await failure {
                        _ = try await transaction.query(all: [
                            Statement("insert into t(n) values ($1)", 3),
                            Statement("insert into t(n, m) values (4, null)"),
                            Statement("insert into t(n) values ($1)", 1),
                        ])
                    }
                    #expect(error?.code == "23502")
                }
            }
            #expect(error?.code == "23502")
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 2)
        }
    }

    @Test func consecutiveTransactionsShareOneConnection() async throws {
        try await withPool(schema) { fixture async throws in
            var pids: Set<Int64> = []
            for number in 0..<20 {
                let pid = Counter()
                try? await fixture.pool.transaction { transaction in
                    pid.set(try #require(try await transaction.query(Fixture.pid).first).integer(0))
                    _ = try await transaction.query("update t set m = m + 1")
                    if number % 2 == 1 { throw Refusal() }
                }
                pids.insert(pid.value)
            }
            #expect(pids.count == 1)
            #expect(try await fixture.pool.query("select m from t where n = 1").first?.integer(0) == 10)
        }
    }

    @Test func idleConnectionsAreClosedAfterAPeak() async throws {
        var options = PoolOptions.longTimeouts
        options.idleLimit = .milliseconds(50)
        try await withPool(schema, options) { fixture in
            let started = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await fixture.pool.transaction { transaction in
                            _ = try await transaction.query("select 1")
                            started.increment()
                            try await eventually { started.value >= 4 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await eventually { await fixture.pool.counters().open == 1 }
            // The pool has closed all idle connections except one, and uses that one again.
            #expect(try await fixture.pool.transaction { try await $0.query("select 2::int8") }[0].integer(0) == 2)
            #expect(await fixture.pool.counters().lost == 0)
        }
    }

    @Test func nothingIsSentForAnEmptyTransaction() async throws {
        let value = try await withPool { try await $0.pool.transaction { _ in 7 } }
        #expect(value == 7)
    }

    @Test func concurrentStatementsShareOneTransaction() async throws {
        try await withPool(schema) { fixture in
            try await fixture.pool.transaction { transaction in
                async let first = transaction.query("insert into t(n) values (3)")
                async let second = transaction.query("insert into t(n) values (4)")
                _ = try await (first, second)
            }
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 4)
        }
    }

    @Test func aTransactionThatHasEndedRefusesStatements() async throws {
        try await withPool(schema) { fixture in
            let ended = try await fixture.pool.transaction { transaction in
                _ = try await transaction.query("select 1")
                return transaction
            }
            #expect(await failure { _ = try await ended.query("delete from t") }?.code == "25P01")
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 2)
        }
    }

    @Test func aDeadlockIsRetried() async throws {
        var options = PoolOptions.longTimeouts
        // The server looks for deadlocks after a second, and a wait must not reach its limit
        // before that.
        options.silenceLimit = .seconds(20)
        options.writeLimit = .seconds(30)
        try await withPool(schema, options) { fixture in
            let runs = Counter()
            let holding = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [[1, 2], [2, 1]] {
                    group.addTask {
                        try await fixture.pool.transaction { transaction in
                            let run = runs.increment()
                            let update = "update t set m = m + 1 where n = $1"
                            _ = try await transaction.query(update, order[0])
                            holding.increment()
                            if run <= 2 { try await eventually { holding.value >= 2 } }
                            _ = try await transaction.query(update, order[1])
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(runs.value == 3)
            #expect(try await fixture.pool.query("select m from t").map { try $0.integer(0) } == [2, 2])
            #expect(await fixture.pool.counters().retries == 1)
        }
    }

    @Test func aSerializationFailureIsRetried() async throws {
        try await withPool(schema) { fixture in
            let runs = Counter()
            let seen = try await fixture.pool.transaction { transaction in
                _ = try await transaction.query("set transaction isolation level repeatable read")
                let seen = try await transaction.query("select m from t where n = 1").first?.integer(0)
                if runs.increment() == 1 {
                    _ = try await fixture.pool.query("update t set m = 10 where n = 1")
                }
                _ = try await transaction.query("update t set m = m + 1 where n = 1")
                return seen
            }
            #expect(seen == 10)
            #expect(runs.value == 2)
            #expect(try await fixture.pool.query("select m from t where n = 1").first?.integer(0) == 11)
        }
    }

    @Test func aLockTimeoutIsRetried() async throws {
        var options = PoolOptions.longTimeouts
        // A wait for a lock ends after three fifths of the silence limit. The pool then runs the
        // transaction again, until the transaction's own limit.
        options.silenceLimit = .seconds(5)
        try await withPool(schema, options) { fixture in
            let runs = Counter()
            let other = try fixture.other()
            try other.execute("begin; update t set m = 5 where n = 1")
            async let updated: Void = fixture.pool.transaction { transaction in
                runs.increment()
                _ = try await transaction.query("update t set m = m + 1 where n = 1")
            }
            try await eventually { runs.value == 2 }
            try other.execute("commit")
            try await updated
            #expect(try await fixture.pool.query("select m from t where n = 1").first?.integer(0) == 6)
        }
    }

    @Test func aPersistentConflictFailsAfterTenRuns() async throws {
        try await withPool(schema) { fixture in
            let runs = Counter()
            let error = await failure {
                try await fixture.pool.transaction { transaction in
                    runs.increment()
                    _ = try await transaction.query("set transaction isolation level repeatable read")
                    _ = try await transaction.query("select m from t where n = 1")
                    _ = try await fixture.pool.query("update t set m = m + 1 where n = 1")
                    _ = try await transaction.query("update t set m = 0 where n = 1")
                }
            }
            #expect(error?.code == "40001")
            #expect(runs.value == 10)
        }
    }

    @Test func aCancelledTaskLeavesNoOpenTransaction() async throws {
        try await withPool(schema) { fixture async throws in
            let hasBegun = Counter()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await fixture.pool.transaction { transaction in
                            _ = try await transaction.query("delete from t")
                            hasBegun.increment()
                            try await Task.sleep(for: .seconds(60))
                        }
                    }
                }
                try? await eventually { hasBegun.value == 1 }
                group.cancelAll()
            }
            #expect(try fixture.openTransactions() == 0)
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 2)
        }
    }

    @Test func transactionsWaitForAConnectionInTheirOrder() async throws {
        var options = PoolOptions.longTimeouts
        options.writers = 2
        try await withPool("create table t(n int8, at int8 generated always as identity)", options) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await fixture.pool.transaction {
                            _ = try await $0.query("insert into t(n) values ($1)", number)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 50)
            #expect(await fixture.pool.counters().open <= 4)
        }
    }

    @Test func aTransactionWithoutAConnectionIsBusyAtItsDeadline() async throws {
        var options = PoolOptions.longTimeouts
        options.writers = 1
        options.writeLimit = .seconds(5)
        try await withPool("", options) { fixture in
            try await fixture.pool.transaction { transaction in
                _ = try await transaction.query("select 1")
                let error = await failure { try await fixture.pool.transaction { _ = try await $0.query("select 1") } }
                #expect(error == .busy)
            }
        }
    }

    @Test func aDeferredViolationStoresNothing() async throws {
        let deferred = "create table u(n int8 unique deferrable initially deferred); insert into u values (1)"
        try await withPool(deferred) { fixture async throws in
            let error = await failure {
                try await fixture.pool.transaction { _ = try await $0.query("insert into u values (1), (2)") }
            }
            #expect(error?.code == "23505")
            let alone = await failure { _ = try await fixture.pool.query("insert into u values (1)") }
            #expect(alone?.code == "23505")
            #expect(try await fixture.pool.query("select count(*) from u").first?.integer(0) == 1)
        }
    }
}
