internal import Foundation
internal import PostgreSQL
package import PushStore

extension PostgreSQLStore {
    package func sharing() async throws(StoreError) -> SharingReport? {
        var report = SharingReport()
        report.servers = try await self.countServers()
        // Errors are ignored: another database that speaks PostgreSQL's protocol may lack these
        // views.
        let standbys = try? await self.read(Self.standbys).first
        let clock = try? await self.read(Self.otherClock).first
        let pool = await self.database.counters()
        (report.connections, report.connectionsLost) = (pool.open, pool.lost)
        (report.waiting, report.oldestWait, report.retries) = (pool.waiting, pool.oldestWait, pool.retries)
        report.standbys = (try? standbys?.integer(0)).map { Int(clamping: $0) }
        report.standbyLag = (try? standbys?.optionalInteger(1)) ?? nil
        report.lateDayKeys = try await self.lateDayKeys()
        report.otherClock = (try? clock?.integer(0)).map { Date(milliseconds: $0) }
        return report
    }

    func countServers() async throws(StoreError) -> Int {
        try await self.read(Self.liveServers, values: []) { Int(clamping: try $0[0].integer(0)) }
    }

    package func servers(limit: Int) async throws(StoreError) -> [ServerEntry] {
        try await self.read(Self.servers, values: [self.membership.number, limit]) { rows in
            try rows.map { row in
                ServerEntry(
                    name: try row.text(0),
                    release: try row.text(1),
                    startedAt: Date(milliseconds: try row.integer(2)),
                    heardAt: Date(milliseconds: try row.integer(3)),
                    state: ServerEntry.State(rawValue: try row.text(4)) ?? .gone,
                    isThis: try row.boolean(5)
                )
            }
        }
    }

    // MARK: - Private

    /// Selects the servers. The time of a server's last renewal is the end of its lease minus the
    /// lease's duration.
    private static let servers = """
        select name, release, started_at, greatest(started_at, until - \(ServerMembership.leaseDuration)),
            case when is_fenced then 'gone' when until < \(DatabaseClock.now) then 'late' else 'alive' end, number = $1
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
        select count(*), max(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::int8 from pg_stat_replication
        """
}
