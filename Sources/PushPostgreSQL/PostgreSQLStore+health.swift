internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// The reason why the store cannot work: it is closed, it lacks a data key, or the database
    /// has not answered for some seconds. `nil` if the store works.
    package var failure: String? {
        if self.condition.isClosed { return StoreError.closedReason }
        if let lack = self.keys.lack { return lack }
        return self.lease.term == nil ? "the database has not answered for some seconds" : nil
    }

    package var refusal: String? {
        if let fault = self.database.fault { return fault.summary }
        if self.keys.lack != nil { return "this server lacks a data key" }
        return self.isUnusable ? "the database cannot be used; the log has the reason" : nil
    }

    package var isFull: Bool { self.condition.shared.isFull }
    package var isUnusable: Bool { self.condition.shared.isUnusable }

    /// The figures of the store's report. The write-ahead log and its checkpoints belong to the
    /// PostgreSQL server, so the report has no figures for them.
    package var report: StoreReport {
        var report = StoreReport()
        report.waiting = self.condition.waiting.load(ordering: .relaxed) + self.posts.waiting
        report.receiptsWaiting = self.receipts.count
        report.receiptsDropped = self.receipts.dropped
        report.setAside = self.condition.shared.setAside
        report.commits = self.condition.shared.commits
        return report
    }

    /// Selects each table, and an SQL expression for all bytes of one of its rows: `bytea` as it
    /// is, and other types as text. Leaves out `node`, whose rows change even without a request.
    package static let columns = """
        select c.relname::text as name, string_agg(
            'coalesce(' || case a.atttypid when 17 then quote_ident(a.attname)
                else 'convert_to(' || quote_ident(a.attname) || '::text, ''UTF8'')' end || ', ''''::bytea)',
            ' || ''\\x20''::bytea || ' order by a.attnum) as bytes
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relkind = 'r' and c.relname <> 'node'
            and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
        group by c.relname order by c.relname
        """

    package func sharing() async throws(StoreError) -> SharingReport {
        var report = SharingReport()
        report.servers = try await self.countServers()
        // Errors are ignored: another database that speaks PostgreSQL's protocol may lack these
        // views.
        let standbys = try? await self.database.query(Self.standbys).first
        let clock = try? await self.database.query(Self.otherClock).first
        let pool = await self.database.counters()
        (report.connections, report.connectionsLost) = (pool.open, pool.lost)
        (report.waiting, report.oldestWait, report.retries) = (pool.waiting, pool.oldestWait, pool.retries)
        report.standbys = (try? standbys?.integer("count")).map { Int(clamping: $0) }
        report.standbyLag = (try? standbys?.optionalInteger("lag")) ?? nil
        report.lateDayKeys = try await self.lateDayKeys()
        report.otherClock = try? clock?.date()
        return report
    }

    func countServers() async throws(StoreError) -> Int {
        try await self.read(Self.liveServers, values: []) { Int(clamping: try $0[0].integer()) }
    }

    package func servers(limit: Int) async throws(StoreError) -> [ServerEntry] {
        try await self.read(Self.servers, values: [self.membership.number, limit]) { rows in
            try rows.map { row in
                ServerEntry(
                    name: try row.text("name"),
                    release: try row.text("release"),
                    startedAt: try row.date("started_at"),
                    heardAt: try row.date("heard_at"),
                    state: ServerEntry.State(rawValue: try row.text("state")) ?? .gone,
                    isThis: try row.flag("is_this")
                )
            }
        }
    }

    /// Selects the servers. The time of a server's last renewal is the end of its lease minus the
    /// lease's duration.
    private static let servers = """
        select name, release, started_at, greatest(started_at, until - \(ServerMembership.leaseDuration)) as heard_at,
            case when is_fenced then 'gone' when until < \(DatabaseClock.now) then 'late' else 'alive' end as state,
            number = $1 as is_this
        from node order by is_fenced, case when is_fenced then -until else started_at end, number limit $2
        """

    private static let liveServers = """
        select count(*) from node
        where not is_fenced and until >= \(DatabaseClock.now)
        """

    /// Selects the database's time. Returns no row if the client and the database server are on
    /// the same machine: they have the same address, or use a unix socket.
    private static let otherClock = """
        select \(DatabaseClock.now) where inet_server_addr() is distinct from inet_client_addr()
        """

    /// Selects the number of replicas, which any role may see, and their lag, which only a role
    /// with `pg_monitor` may see.
    private static let standbys = """
        select count(*), max(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::int8 as lag from pg_stat_replication
        """

    private static let checkInterval = Duration.seconds(5)

    // MARK: The rights of the server's role

    /// Checks at intervals whether a database out of use can be used again, until the task is
    /// cancelled.
    func keepRights() async {
        // Other causes than a missing right show only in failures, which the server's own tasks
        // repeat each second.
        while (try? await Task.sleep(for: Self.checkInterval)) != nil {
            await self.checkRights(after: Self.checkInterval * 2)
        }
    }

    func checkRights(after pause: Duration) async {
        // If the read fails, the next check asks again.
        guard self.condition.shared.isOut, let row = try? await self.read(Self.rights).first,
            (try? row.flag()) == true
        else { return }
        self.condition.shared.recordUsable(after: pause)
    }

    /// Selects whether the role may use its schema, and has its rights on its own tables.
    private static let rights = """
        select to_regclass('migration') is not null and not exists (\(SchemaOwnership.lackingRights))
        """

    // MARK: The planner's statistics

    /// Analyzes at intervals the tables whose statistics are far too small, until the task is
    /// cancelled.
    ///
    /// The planner takes a table for empty if the table was empty at its last analysis. It then
    /// reads whole indexes, since that seems to cost as little as a search. PostgreSQL itself
    /// analyzes such a table up to a minute after the table has got rows again.
    func keepStatistics() async {
        while (try? await Task.sleep(for: Self.checkInterval)) != nil {
            // After a failure, the next check or PostgreSQL itself analyzes the tables.
            try? await self.analyzeGrownTables()
        }
    }

    func analyzeGrownTables() async throws {
        for row in try await self.read(Self.grownTables) {
            let table = try row.text()
            // Single statements share a connection, so other statements would wait for this one.
            try await self.write { tx in
                // With a small sample, the analysis of a million rows takes 0.1 s, otherwise 2 s
                // on a busy machine, after which the statement would be cancelled.
                _ = try await tx.query("set local default_statistics_target = 10")
                _ = try await tx.query("analyze (skip_locked) \(table)")
            }
        }
    }

    /// Selects the tables that have at least a hundred times the rows of their last analysis.
    private static let grownTables = """
        select quote_ident(c.relname) from pg_class c
        where c.relkind = 'r' and pg_stat_get_live_tuples(c.oid) > greatest(1000, c.reltuples * 100)
            and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
        """
}
