import Foundation
import PushTesting
import SQLite
import Testing

@Suite("Statements of SQLite", .timeLimit(.minutes(1)))
struct StatementTests {
    private func run<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try Connection().exclusively(body)
    }

    @Test func valuesAreStoredAndReadWithTheirTypes() throws {
        let row = try self.run { db in
            try NamedRow.fetchOne(
                db,
                sql: "select ? as a, ? as b, ? as c, ? as d, ? as e, ? as f",
                arguments: [Int64.min, true, "Zoë\u{1F600}", Data([0, 255]), Data(), String?.none]
            )
        }
        let found = try #require(row)
        #expect(try found["a"] as Int64 == .min)
        #expect(try found["b"] as Bool)
        #expect(try found["c"] as String == "Zoë\u{1F600}")
        #expect(try found["d"] as Data == Data([0, 255]))
        #expect(try found["e"] as Data == Data())
        #expect(try found["f"] as String? == nil)
        #expect(try found["a"] as Int64? == .min)
    }

    @Test(arguments: [
        "select 'a' as value", "select null as value", "select x'00' as value", "select 1.5 as value",
        "select 1 as other",
    ])
    func unexpectedColumnThrows(sql: String) throws {
        let row = try #require(try self.run { try NamedRow.fetchOne($0, sql: sql) })
        #expect(throws: RowDecodingError.self) { try row["value"] as Int64 }
        #expect(throws: RowDecodingError.self) { try row[1] as Int64 }
        #expect(throws: RowDecodingError.self) { try row[-1] as Int64 }
    }

    @Test(arguments: ["select null", "select 1 where 0"])
    func queryOfOneColumnReturnsNilForNullAndForNoRow(sql: String) throws {
        #expect(try self.run { try Int.fetchOne($0, sql: sql) } == nil)
    }

    @Test(arguments: ["select null", "select 'a'"])
    func listOfOneColumnTakesOnlyItsType(sql: String) throws {
        #expect(throws: RowDecodingError.self) { try self.run { try Int.fetchAll($0, sql: sql) } }
    }

    @Test(arguments: [0, 1, 3])
    func otherNumberOfParametersIsRefused(count: Int) throws {
        let arguments = Array(repeating: 1, count: count)
        let error = #expect(throws: DatabaseError.self) {
            try self.run { try Int.fetchOne($0, sql: "select ?1 + ?2", arguments: arguments) }
        }
        #expect(error?.resultCode == .misuse)
    }

    @Test func severalStatementsRunInOrder() throws {
        try self.run { db in
            try db.execute(sql: "create table a (b); insert into a values (1); -- the end\ninsert into a values (2); ")
            #expect(try Int.fetchAll(db, sql: "select b from a") == [1, 2])
            try db.execute(sql: "update a set b = 3 where b = 1; delete from a where b = 2")
            #expect(try Int.fetchAll(db, sql: "select b from a") == [3])
        }
    }

    @Test func preparedStatementIsUsedAgain() throws {
        try self.run { db in
            try db.execute(sql: "create table a (b)")
            for number in 1...3 { #expect(try db.run("insert into a values (?)", number) == 1) }
            #expect(try db.all("select b from a where b > ?", 1) { $0.integer(0) } == [2, 3])
            #expect(try db.first("select b from a where b > ?", 3) { $0.integer(0) } == nil)
        }
    }

    @Test func composedStatementBindsItsValues() throws {
        let hostile = "'; drop table a; --"
        let condition: SQL = "b = \(hostile) or b = \("x")"
        try self.run { db in
            try db.execute(sql: "create table a (b)")
            try db.run("insert into a values (\(hostile)), (\(Int?.none))")
            #expect(try db.all("select b from a where \(condition)") { $0.text(0) } == [hostile])
            #expect(try db.all("select \(sql: "b") from a where b is \(Int?.none)") { _ in true }.count == 1)
            #expect(try db.exists("select 1 from a where b = \(hostile)"))
            #expect(try !db.exists("select 1 from a where b = \("x")"))
            #expect(try db.first("select b from a where b = \(hostile)") { $0.text(0) } == hostile)
            let listed = try db.all(composed: "select b from a where b in \([hostile, "x"])") { $0.text(0) }
            #expect(listed == [hostile])
        }
    }

    @Test func textInDoubleQuotesIsNoText() throws {
        let error = #expect(throws: DatabaseError.self) { try self.run { try $0.execute(sql: "select \"a\"") } }
        #expect(error?.message == "no such column: a")
    }

    @Test func foreignKeysAreEnforced() throws {
        let error = #expect(throws: DatabaseError.self) {
            try self.run {
                try $0.execute(
                    sql:
                        "create table a (b integer primary key); create table c (d references a); insert into c values (1)"
                )
            }
        }
        #expect(error?.resultCode == .constraint)
    }

    @Test func errorContainsNoValues() throws {
        let error = #expect(throws: DatabaseError.self) {
            try self.run { db in
                try db.execute(sql: "create table a (b unique)")
                for _ in 1...2 { try db.run("insert into a values (?)", "secret") }
            }
        }
        #expect(error?.description.contains("UNIQUE") == true)
        #expect(error?.description.contains("secret") == false)
    }
}
