internal import PostgreSQL
internal import PushStore

/// Statistics of PostgreSQL's planner.
///
/// The planner takes a table for empty if the table was empty at its last analysis. It then reads
/// whole indexes, since that seems to cost as little as a search. PostgreSQL itself analyzes such
/// a table up to a minute after the table has got rows again.
extension PostgreSQLStore {
    private static let checkInterval = Duration.seconds(5)

    /// Analyzes at intervals the tables whose statistics are far too small, until the task is
    /// cancelled.
    func keepStatistics() async {
        while (try? await Task.sleep(for: Self.checkInterval)) != nil {
            // After a failure, the next check or PostgreSQL itself analyzes the tables.
            try? await self.analyzeGrownTables()
        }
    }

    func analyzeGrownTables() async throws {
        for row in try await self.read(Self.grownTables) {
            let table = try row.text(0)
            // Single statements share a connection, so other statements would wait for this one.
            _ = try await self.write { tx in try await tx.query("analyze (skip_locked) \(table)") }
        }
    }

    // MARK: - Private

    /// Selects the tables that have at least a hundred times the rows of their last analysis.
    private static let grownTables = """
        select quote_ident(c.relname) from pg_class c
        where c.relkind = 'r' and pg_stat_get_live_tuples(c.oid) > greatest(1000, c.reltuples * 100)
            and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
        """
}
