import Foundation
import PostgreSQL
import PushTesting
import Synchronization
import Testing

/// Returns the SQL for a table whose inserts run `statement` when they are committed.
private func committing(_ statement: String) -> String {
    """
    create table t(n int8);
    create function slow() returns trigger language plpgsql as $$ begin \(statement); return null; end $$;
    create constraint trigger slow after insert on t deferrable initially deferred for each row execute function slow();
    """
}

private let kill = "select pg_terminate_backend($1::int4)"

private let killAll = """
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    """

/// Processes that a test suspends. They continue when this object ends.
private final class Frozen: Sendable {
    private let pids = Mutex<[Int32]>([])

    func freeze(_ pid: Int64) {
        let pid = Int32(pid)
        self.pids.withLock { $0.append(pid) }
        Foundation.kill(pid, SIGSTOP)
    }

    deinit {
        for pid in self.pids.withLock({ $0 }) { Foundation.kill(pid, SIGCONT) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct ConnectionLossTests {
    @Test func aReadWhoseConnectionIsKilledIsRepeated() async throws {
        try await withPool("create table runs(n int8)") { fixture in
            let pool = fixture.pool
            let pid = try #require(try await pool.query(Fixture.pid).first).integer(0)
            async let slow = pool.query("select 7::int8 from pg_sleep(1)")
            try await eventually {
                let sql = "select count(*) from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
                return try fixture.other().query(sql, pid).first?.integer(0) == 1
            }
            _ = try fixture.other().query(kill, pid)
            #expect(try await slow.first?.integer(0) == 7)
            #expect(try await pool.query(Fixture.pid).first?.integer(0) != pid)
            #expect(await pool.counters().lost == 1)
        }
    }

    /// A pooler reports its loss of the database server as an error, and keeps the client's
    /// connection open.
    @Test func aPoolersLossOfTheServerIsALostConnection() async throws {
        let losing = """
            create sequence runs;
            create function lose() returns int8 language plpgsql as $$ begin
            if nextval('runs') = 1 then raise exception 'server conn crashed?' using errcode = '08P01'; end if;
            return 7; end $$;
            """
        try await withPool(losing) { fixture in
            let rows = try await fixture.pool.transaction { try await $0.query("select lose()") }
            #expect(try rows.first?.integer(0) == 7)
            #expect(await fixture.pool.counters().lost == 1)
        }
    }

    @Test func connectionsClosedWhileIdleAreReopened() async throws {
        try await withPool("create table t(n int8)") { fixture in
            let pool = fixture.pool
            for _ in 0..<3 {
                _ = try await pool.query("select 1")
                try await pool.transaction { _ = try await $0.query("insert into t(n) values (1)") }
                _ = try fixture.other().query(killAll)
                try await eventually { await pool.counters().open == 0 }
            }
            #expect(try await pool.query("select count(*) from t").first?.integer(0) == 3)
        }
    }

    @Test func aTransactionWhoseConnectionIsKilledBeforeTheCommitRunsAgain() async throws {
        try await withPool("create table t(n int8)") { fixture in
            let runs = Counter()
            try await fixture.pool.transaction { transaction in
                let pid = try #require(try await transaction.query(Fixture.pid).first).integer(0)
                _ = try await transaction.query("insert into t(n) values (1)")
                if runs.increment() == 1 {
                    _ = try fixture.other().query(kill, pid)
                    // The pool must have noticed the loss before the test sends the next
                    // statement.
                    try await eventually { await fixture.pool.counters().lost == 1 }
                }
            }
            #expect(runs.value == 2)
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 1)
        }
    }

    @Test func aCommitWhoseConnectionIsKilledHasAnUnknownOutcome() async throws {
        try await withPool(committing("perform pg_sleep(2)")) { fixture in
            let runs = Counter()
            let pid = Counter()
            async let outcome = failure {
                try await fixture.pool.transaction { transaction in
                    runs.increment()
                    pid.set(try #require(try await transaction.query(Fixture.pid).first).integer(0))
                    _ = try await transaction.query("insert into t(n) values (1)")
                }
            }
            try await eventually {
                let sql = "select count(*) from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
                return try fixture.other().query(sql, pid.value).first?.integer(0) == 1
            }
            _ = try fixture.other().query(kill, pid.value)
            #expect(await outcome?.isUnknown == true)
            #expect(runs.value == 1)
        }
    }

    @Test func aCommitWithAWarningHasAnUnknownOutcome() async throws {
        try await withPool(committing("raise warning 'not replicated'")) { fixture in
            let error = await failure {
                try await fixture.pool.transaction { _ = try await $0.query("insert into t(n) values (1)") }
            }
            #expect(error == .unknownOutcome(reason: "not replicated"))
            #expect(try await fixture.pool.query("select count(*) from t").first?.integer(0) == 1)
            let single = await failure { _ = try await fixture.pool.query("insert into t(n) values (2)") }
            #expect(single == .unknownOutcome(reason: "not replicated"))
            // The connection is still usable.
            try await fixture.pool.transaction { _ = try await $0.query("delete from t") }
        }
    }

    @Test func aReadOnAFrozenConnectionIsRepeatedOnAnother() async throws {
        var options = PoolOptions.longTimeouts
        options.readers = 1
        options.readLimit = .seconds(5)
        try await withPool("", options) { fixture in
            let frozen = Frozen()
            let pid = try #require(try await fixture.pool.query(Fixture.pid).first).integer(0)
            frozen.freeze(pid)
            let start = ContinuousClock.now
            #expect(try await fixture.pool.query(Fixture.pid).first?.integer(0) != pid)
            #expect(ContinuousClock.now - start > .seconds(4))
        }
    }

    /// The limit for connecting is longer than the test's time limit, so only the other limits can
    /// end the attempts.
    @Test func aServerThatStaysSilentIsUnavailableAtTheTimeouts() async throws {
        var options = PoolOptions.shortTimeouts
        options.connectLimit = .seconds(3600)
        let silent = try HeldSocket()
        let elsewhere = try DatabaseAddress("postgres://x@127.0.0.1:\(silent.port)/x")
        try await withPool("", options, at: { _ in elsewhere }) { fixture in
            let error = await failure { _ = try await fixture.pool.query("select 1") }
            #expect(error?.isUnavailable == true)
            let write = await failure { try await fixture.pool.transaction { _ = try await $0.query("select 1") } }
            #expect(write?.isUnavailable == true)
        }
    }

    /// The limit for writes is longer than the test's time limit, so only the limit for silence
    /// can end the commit.
    @Test func aCommitOnAFrozenServerHasAnUnknownOutcomeAtTheDeadline() async throws {
        var options = PoolOptions.longTimeouts
        options.silenceLimit = .seconds(5)
        options.writeLimit = .seconds(3600)
        try await withPool("create table t(n int8)", options) { fixture in
            let frozen = Frozen()
            let error = await failure {
                try await fixture.pool.transaction { transaction in
                    let pid = try #require(try await transaction.query(Fixture.pid).first).integer(0)
                    _ = try await transaction.query("insert into t(n) values (1)")
                    frozen.freeze(pid)
                }
            }
            #expect(error?.isUnknown == true)
        }
    }

    @Test func aSlowStatementIsCancelledAndItsConnectionKept() async throws {
        var options = PoolOptions.longTimeouts
        options.readers = 1
        // The server ends the statement after four fifths of the limit; the remaining time is for
        // the server's answer.
        options.readLimit = .seconds(10)
        try await withPool("", options) { fixture in
            let pid = try await fixture.pool.query(Fixture.pid).first?.integer(0)
            #expect(await failure { _ = try await fixture.pool.query("select pg_sleep(100)") }?.code == "57014")
            #expect(try await fixture.pool.query(Fixture.pid).first?.integer(0) == pid)
        }
    }

    @Test func manyReadersSurviveManyKills() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            let other = try fixture.other()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<20 {
                    group.addTask {
                        for number in 0..<100 {
                            do {
                                #expect(
                                    try await pool.query("select $1", task * number).first?.integer(0)
                                        == Int64(task * number)
                                )
                            } catch DatabaseError.unavailable {
                                // A transaction may fail, because its connection was lost twice.
                            }
                            try await Task.sleep(for: .milliseconds(2))
                        }
                    }
                }
                for _ in 0..<10 {
                    _ = try other.query(killAll)
                    try await Task.sleep(for: .milliseconds(50))
                }
                try await group.waitForAll()
            }
            #expect(await pool.counters().waiting == 0)
        }
    }

    @Test func transactionsAreStoredAsAnsweredDespiteKills() async throws {
        try await withPool("create table t(n int8)") { fixture in
            let pool = fixture.pool
            let answers = try await withThrowingTaskGroup(of: [Int64: DatabaseError?].self) { group in
                for task in 0..<10 as Range<Int64> {
                    group.addTask {
                        var answers: [Int64: DatabaseError?] = [:]
                        for number in (task * 100)..<(task * 100 + 50) {
                            answers[number] = .some(
                                await failure {
                                    try await pool.transaction { transaction in
                                        _ = try await transaction.query("insert into t(n) values ($1)", number)
                                        // This transaction loses its connection, and perhaps
                                        // others do.
                                        if task == 0, number % 3 == 0 { _ = try fixture.other().query(killAll) }
                                        _ = try await transaction.query("select count(*) from t")
                                    }
                                }
                            )
                        }
                        return answers
                    }
                }
                return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
            }
            let stored = try fixture.other().query("select n, count(*) from t group by n").map { row in
                (try row.integer(0), try row.integer(1))
            }
            let counts = Dictionary(uniqueKeysWithValues: stored)
            #expect(answers.count == 500)
            for (number, error) in answers {
                let count = counts[number] ?? 0
                switch error {
                case nil: #expect(count == 1)
                case .unknownOutcome: #expect(count <= 1)
                case .some: #expect(count == 0)
                }
            }
            #expect(await pool.counters().lost > 0)
        }
    }
}
