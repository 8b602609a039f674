import PostgreSQL
import PushTesting
import Synchronization
import Testing

/// Messages between database connections (`NOTIFY`), and the pool's connection on which they
/// arrive.
@Suite(.timeLimit(.minutes(5))) struct SessionMessageTests {
    private final class Heard: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ text: String) { self.all.withLock { $0.append(text) } }
        var texts: [String] { self.all.withLock { $0 } }
    }

    /// Runs a statement on the connection for messages, and returns its first column.
    private func control(_ pool: ConnectionPool, _ sql: String) async throws -> Int64? {
        let outcome: Result<Rows, DatabaseError> = await withCheckedContinuation { continuation in
            pool.control(sql) { continuation.resume(returning: $0) }
        }
        return try outcome.get().first?.integer(0)
    }

    @Test func aMessageArrivesAtAnIdleConnectionThatListens() async throws {
        try await withPool { fixture in
            let heard = Heard()
            fixture.pool.listen("listen news") { heard.add($0) }
            _ = try await self.control(fixture.pool, Fixture.pid)
            let other = try fixture.other()
            try other.execute("notify news, 'one'; notify olds, 'none'")
            try other.execute("begin; notify news, 'two'; notify news, 'two'; notify news, 'three'; commit")
            try await eventually { heard.texts.count == 3 }
            #expect(heard.texts == ["one", "two", "three"])
            #expect(await fixture.pool.counters().open == 1)
        }
    }

    @Test func aConnectionThatReplacesALostOneListens() async throws {
        try await withPool { fixture in
            let heard = Heard()
            fixture.pool.listen("listen news") { heard.add($0) }
            let first = try #require(try await self.control(fixture.pool, Fixture.pid))
            _ = try fixture.other().query("select pg_terminate_backend($1::int8::int4)", first)
            #expect(try await self.control(fixture.pool, Fixture.pid) != first)
            try fixture.other().execute("notify news, 'again'")
            try await eventually { heard.texts == ["again"] }
        }
    }

    /// Other statements wait for a lock. Control statements have their own connection, so they
    /// need not wait.
    @Test func controlStatementsDoNotWaitBehindOthers() async throws {
        try await withPool("create table t (id bigint)") { fixture in
            let other = try fixture.other()
            try other.execute("begin; lock table t")
            async let blocked = fixture.pool.query("select id from t")
            #expect(try await self.control(fixture.pool, "select 1::int8") == 1)
            try other.execute("rollback")
            #expect(try await blocked.count == 0)
        }
    }

    @Test func aFailedStatementUndoesNoOther() async throws {
        try await withPool("create table t (id bigint primary key)") { fixture in
            async let first = self.control(fixture.pool, "insert into t values (1) returning id")
            async let broken = self.control(fixture.pool, "select 1 / (random() * 0)::int8")
            async let last = self.control(fixture.pool, "insert into t values (2) returning id")
            #expect(try await [first, last] == [1, 2])
            do {
                _ = try await broken
                Issue.record("a division by zero has a result")
            } catch is DatabaseError {}
            #expect(try fixture.other().query("select count(*) from t")[0].integer(0) == 2)
        }
    }
}
