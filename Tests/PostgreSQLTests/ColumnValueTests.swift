import Foundation
import PostgreSQL
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ColumnValueTests {
    @Test(arguments: [0, 1, -1, 1 << 40, .min, .max] as [Int64]) func numbersComeBack(number: Int64) async throws {
        try await withPool { fixture in
            let row = try #require(
                try await fixture.pool.query("select $1, $2, $3", number, Int(number), number > 0).first
            )
            #expect(try row.integer(0) == number)
            #expect(try row.integer(1) == number)
            #expect(try row.boolean(2) == (number > 0))
        }
    }

    @Test func textsComeBack() async throws {
        try await withPool { fixture async throws in
            for text in ["", "a", "'; drop table x; --", "Grüße 🚀", String(repeating: "ü", count: 1 << 16)] {
                #expect(try await fixture.pool.query("select $1", text).first?.text(0) == text)
            }
        }
    }

    @Test func bytesComeBack() async throws {
        try await withPool { fixture async throws in
            for bytes in [Data(), Data([0]), Data(0...255), Data(repeating: 7, count: 1 << 20)] {
                #expect(try await fixture.pool.query("select $1", bytes).first?.data(0) == bytes)
            }
        }
    }

    @Test func nullsComeBack() async throws {
        try await withPool { fixture in
            let (number, text, bytes): (Int64?, String?, Data?) = (nil, nil, nil)
            let none: Bool? = nil
            let sql = "select $1, $2, $3, $4, 1::int8, 'x', 'x'::bytea"
            let row = try #require(try await fixture.pool.query(sql, number, text, bytes, none).first)
            #expect((0..<4).allSatisfy { row.isNull($0) })
            #expect(try row.optionalInteger(0) == nil && row.optionalText(1) == nil && row.optionalData(2) == nil)
            #expect(
                try row.optionalInteger(4) == 1 && row.optionalText(5) == "x" && row.optionalData(6) == Data("x".utf8)
            )
            #expect(throws: DatabaseError.badColumn(0)) { try row.integer(0) }
            #expect(throws: DatabaseError.badColumn(3)) { try row.boolean(3) }
        }
    }

    @Test func arraysArrive() async throws {
        try await withPool { fixture async throws in
            let sql = "select x from unnest($1) with ordinality as u(x, n) order by n"
            let pool = fixture.pool
            let numbers: [Int64?] = [3, nil, -1]
            #expect(try await pool.query(sql, numbers).map { try $0.optionalInteger(0) } == numbers)
            #expect(try await pool.query(sql, [4, 2]).map { try $0.integer(0) } == [4, 2])
            let texts: [String?] = ["", "{a,b}", nil, "NULL"]
            #expect(try await pool.query(sql, texts).map { try $0.optionalText(0) } == texts)
            let bytes: [Data?] = [nil, Data(), Data(repeating: 1, count: 1 << 20)]
            #expect(try await pool.query(sql, bytes).map { try $0.optionalData(0) } == bytes)
            #expect(try await pool.query(sql, [true, false]).map { try $0.boolean(0) } == [true, false])
            #expect(try await pool.query(sql, [Int64]()).count == 0)
            #expect(try await pool.query(sql, [Data]()).count == 0)
            #expect(try await pool.query("select $1 is null", [Int64]?.none).first?.boolean(0) == true)
            #expect(try await pool.query("select count(*) where 5 = any($1)", Array(0..<10_000)).first?.integer(0) == 1)
        }
    }

    @Test func aColumnOfAnotherTypeIsAnErrorAndNoTrap() async throws {
        try await withPool { fixture in
            let rows = try await fixture.pool.query("select 1::int4, 1::int8, 'a'::text, true")
            let row = rows[0]
            #expect(throws: DatabaseError.badColumn(0)) { try row.integer(0) }
            #expect(throws: DatabaseError.badColumn(1)) { try row.text(1) }
            #expect(throws: DatabaseError.badColumn(2)) { try row.data(2) }
            #expect(throws: DatabaseError.badColumn(3)) { try row.integer(3) }
            #expect(throws: DatabaseError.badColumn(4)) { try row.integer(4) }
            #expect(throws: DatabaseError.badColumn(-1)) { try row.integer(-1) }
            #expect(throws: DatabaseError.badColumn(1)) { try rows[1].integer(1) }
            #expect(row.isNull(9))
        }
    }

    @Test func rowsOutliveTheirConnection() async throws {
        let rows = try await withPool { try await $0.pool.query("select n from generate_series(1, 1000::int8) as n") }
        #expect(try rows.map { try $0.integer(0) } == Array(1...1000))
    }

    @Test func changedCountsTheWrittenRows() async throws {
        try await withPool("create table t(n int8 primary key)") { fixture async throws in
            try await fixture.pool.transaction { transaction async throws in
                let insert = "insert into t(n) select * from unnest($1) on conflict do nothing"
                #expect(try await transaction.query(insert, [1, 2, 3]).changed == 3)
                #expect(try await transaction.query(insert, [3, 4]).changed == 1)
                #expect(try await transaction.query("update t set n = n + 10 where n > $1", 2).changed == 2)
                #expect(try await transaction.query("select n from t").changed == 0)
                #expect(try await transaction.query("delete from t").changed == 4)
            }
        }
    }
}
