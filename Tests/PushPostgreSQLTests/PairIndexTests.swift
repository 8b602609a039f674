import PostgreSQL
import PushTesting
import Testing

@testable import PushPostgreSQL

/// The index by which the store reads pages of pushes or tags. In a table of pushes or tags,
/// nearly all rows may belong to one notification or one tag.
@Suite(.timeLimit(.minutes(5))) struct PairIndexTests {
    private let connection: BlockingConnection

    init() throws {
        let folder = try TemporaryFolder()
        self.connection = try BlockingConnection(try FolderDatabases.database(of: folder))
        // The store's own connections have these settings. The table has two indexes, like `push`
        // and `device_tag`.
        try self.connection.execute(
            """
            set plan_cache_mode = force_generic_plan;
            set enable_seqscan = off;
            set jit = off;
            create table pair (a bigint, b bigint, primary key (b, a));
            create index pair_by_a on pair (a, b) with (fillfactor = 50);  -- the larger one, as after many changes
            insert into pair select 1, n from generate_series(1, 10000) as n;
            """
        )
        try self.connection.execute("vacuum analyze pair")
        // PostgreSQL's statistics do not contain this row before the next analysis.
        try self.connection.execute("insert into pair values (2, 10001)")
    }

    /// Returns how many pages of 8 KiB the statement reads.
    private func pagesRead(_ condition: String, order: String) throws -> Int {
        try self.connection.execute(
            """
            deallocate all;
            prepare page (bigint, bigint, bigint) as select b from pair where \(condition) order by \(order) limit $3
            """
        )
        let lines = try self.connection.query("explain (analyze, buffers, timing off) execute page (2, 0, 100)")
        let hits = try lines.compactMap { row in
            try row.text(0).firstMatch(of: /shared hit=(\d+)/).flatMap { Int($0.1) }
        }
        return try #require(hits.first)
    }

    @Test func rowsOfARareValueAreFoundByTheirIndex() throws {
        let index = PairIndex(first: "a", second: "b")
        #expect(try self.pagesRead(index.rows(of: "$1", after: "$2"), order: index.order) <= 4)
    }

    /// A control for the test above: the measurement must show many pages for comparisons that are
    /// known to read many.
    @Test func separateComparisonsReadManyPages() throws {
        #expect(try self.pagesRead("a = $1 and b > $2", order: "b") > 20)
    }
}
