import PostgreSQL
import PushTesting
import Testing

@testable import PushPostgreSQL

/// The lookup of rows by two-column keys, in a table that is empty by PostgreSQL's statistics.
@Suite(.timeLimit(.minutes(5))) struct KeyLookupTests {
    private let connection: BlockingConnection

    init() throws {
        let folder = try TemporaryFolder()
        self.connection = try BlockingConnection(try FolderDatabases.database(of: folder))
        // The store's own connections have these settings. The table is like `push_end` after a
        // cleanup: it was empty when it was analyzed.
        try self.connection.execute(
            """
            set plan_cache_mode = force_generic_plan;
            set enable_seqscan = off;
            set jit = off;
            create table pair (a bigint, b bigint, c bigint, primary key (a, b)) with (autovacuum_enabled = off);
            insert into pair select 1, n, 0 from generate_series(1, 20000) as n;
            delete from pair;
            analyze pair;
            insert into pair select 2, n, 0 from generate_series(1, 20000) as n;
            """
        )
    }

    /// Returns the number of pages of 8 KiB that PostgreSQL reads to find 50 rows.
    private func pagesRead(_ condition: String) throws -> Int {
        try self.connection.execute(
            """
            prepare look (bigint[], bigint[]) as select p.c from unnest($1, $2) as k (a, b) join pair p on \(condition)
            """
        )
        let keys = (1...50).map { String($0 * 400) }.joined(separator: ",")
        let firsts = Array(repeating: "2", count: 50).joined(separator: ",")
        let lines = try self.connection.query(
            "explain (analyze, buffers, timing off) execute look ('{\(firsts)}', '{\(keys)}')"
        )
        let hits = try lines.compactMap { row in
            try row.text(0).firstMatch(of: /shared hit=(\d+)/).flatMap { Int($0.1) }
        }
        return try #require(hits.first)
    }

    @Test func aLookupReadsOnlyAFewPagesPerKey() throws {
        let condition = KeyLookup(columns: ["a", "b"]).condition("p", "k")
        #expect(try self.pagesRead(condition) <= 50 * 6)
    }

    /// A control for the test above: the measurement must show many pages for a condition that is
    /// known to read many.
    @Test func aLookupByPlainArraysReadsManyPages() throws {
        #expect(try self.pagesRead("p.a = any(array[k.a]) and p.b = any(array[k.b])") > 50 * 20)
    }
}
