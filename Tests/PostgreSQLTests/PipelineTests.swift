import Foundation
import PostgreSQL
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct PipelineTests {
    @Test func eachOfManyTasksGetsItsOwnAnswer() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
                for task in 0..<100 {
                    group.addTask {
                        var wrong = 0
                        for number in 0..<100 {
                            let value = task * 100 + number
                            let row = try await pool.query("select $1, $2", value, "\(value)").first
                            if try row?.integer(0) != Int64(value) || row?.text(1) != "\(value)" { wrong += 1 }
                        }
                        return wrong
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(wrong == 0)
            #expect(await pool.counters().waiting == 0)
        }
    }

    @Test func aFailedStatementAmongManyFailsAlone() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            let outcomes = await withTaskGroup(of: (Int, Int64?, String?).self) { group in
                for number in 0...100 {
                    group.addTask {
                        do {
                            let row = try await pool.query("select 100 / ($1 - 50)", number).first
                            return (number, try row?.integer(0), nil)
                        } catch {
                            return (number, nil, (error as? DatabaseError)?.code)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.filter { $0.2 != nil }.map(\.0) == [50])
            #expect(outcomes.first { $0.0 == 50 }?.2 == "22012")
            #expect(outcomes.allSatisfy { $0.0 == 50 || $0.1 == Int64(100 / ($0.0 - 50)) })
        }
    }

    @Test func aStatementThatCannotBePreparedFailsAlone() async throws {
        try await withPool { fixture async throws in
            let pool = fixture.pool
            async let bad = failure { _ = try await pool.query("select no_such_column") }
            async let good = pool.query("select 1::int8")
            async let alsoBad = failure { _ = try await pool.query("selec") }
            #expect(await bad?.code == "42703")
            #expect(try await good.first?.integer(0) == 1)
            #expect(await alsoBad?.code == "42601")
            #expect(try await pool.query("select 2::int8").first?.integer(0) == 2)
        }
    }

    /// Statements that are sent together form one implicit transaction. If one fails, the others
    /// are undone, and the pool must repeat them exactly once.
    @Test func aWritePipelinedWithAFailureIsStored() async throws {
        try await withPool("create table t(n int8 primary key)") { fixture async throws in
            let pool = fixture.pool
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let error = await failure { _ = try await pool.query("insert into t(n) values ($1)", number) }
                        #expect(error == nil)
                    }
                    group.addTask {
                        let error = await failure { _ = try await pool.query("select 1 / ($1 - $1)", number) }
                        #expect(error?.code == "22012")
                    }
                }
            }
            #expect(try await pool.query("select count(*) from t").first?.integer(0) == 50)
        }
    }

    @Test func statementsBeyondTheLimitFailAsBusy() async throws {
        var options = PoolOptions.longTimeouts
        options.readers = 1
        options.maximumWaiting = 10
        try await withPool("", options) { fixture in
            let pool = fixture.pool
            let errors = await withTaskGroup(of: DatabaseError?.self) { group in
                for number in 0..<30 {
                    group.addTask { await failure { _ = try await pool.query("select $1", number) } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.count { $0 == nil } == 10)
            #expect(errors.count { $0 == .busy } == 20)
        }
    }

    @Test func aStatementIsPreparedAgainWhenItsColumnsHaveChanged() async throws {
        try await withPool("create table t(n int8); insert into t values (1)") { fixture in
            let pool = fixture.pool
            let star = "select * from t"
            #expect(try await pool.query(star).first?.integer(0) == 1)
            let inside = try await pool.transaction { try await $0.query(star).first?.integer(0) }
            #expect(inside == 1)
            try fixture.other().execute("alter table t add m int8 default 2")
            #expect(try await pool.query(star).first?.integer(1) == 2)
            #expect(try await pool.transaction { try await $0.query(star).first?.integer(1) } == 2)
        }
    }

    @Test func moreStatementsThanCanBePreparedStillRun() async throws {
        try await withPool { fixture async throws in
            for number in 0..<1100 {
                #expect(try await fixture.pool.query("select $1 + \(number)", 1).first?.integer(0) == Int64(number + 1))
            }
        }
    }

    @Test func largeStatementsAndAnswersPassEachOther() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            let intact = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<32 {
                    group.addTask {
                        let bytes = Data(repeating: UInt8(number), count: 1 << 20)
                        let back = try await pool.query("select $1", bytes).first?.data(0)
                        return back == bytes ? 1 : 0
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(intact == 32)
        }
    }

    @Test func closingAnswersTheSubmittedStatements() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            await withTaskGroup(of: DatabaseError?.self) { group in
                for number in 0..<100 {
                    group.addTask { await failure { _ = try await pool.query("select $1", number) } }
                }
                group.addTask {
                    await pool.close()
                    return nil
                }
                for await error in group { #expect(error == nil) }
            }
            #expect(await failure { _ = try await pool.query("select 1") }?.isUnavailable == true)
            #expect(
                await failure { try await pool.transaction { _ = try await $0.query("select 1") } }?.isUnavailable
                    == true
            )
        }
    }

    @Test(arguments: [
        ("insert into t(name) values ($1)", "secret", "23505"),
        ("insert into t(name) values ($1)", "bad-secret", "23514"),
        ("select $1::text::int8", "secret", "22P02"), ("select $1::text::int8", "99999999999999999999", "22003"),
        ("select $1::text::date", "secret", "22007"), ("select $1", "se\0cret", "22021"),
    ])
    func anErrorNamesNoValue(sql: String, value: String, code: String) async throws {
        let schema = "create table t(name text constraint unique_name unique, check (name <> 'bad-secret'))"
        let error = try await withPool(schema + "; insert into t values ('secret')") { fixture in
            await failure { _ = try await fixture.pool.query(sql, value) }
        }
        let text = error?.description ?? ""
        #expect(error?.code == code)
        #expect(!text.contains("secret") && !text.contains("999") && !text.contains("0x"))
        #expect(code != "23505" || text.contains("unique_name"))
    }
}
