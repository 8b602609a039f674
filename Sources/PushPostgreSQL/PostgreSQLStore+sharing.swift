internal import Migrations
internal import PostgreSQL
package import PushStore

extension PostgreSQLStore {
    package func sharing() async throws(StoreError) -> SharingReport? {
        let servers = try await self.read(Self.liveServers)
        // Other engines of this wire have other ways to say it.
        let standbys = try? await self.read(Self.standbys).first
        let pool = await self.database.counters()
        return SharingReport(
            servers: Int(clamping: (try? servers.first?.integer(0)) ?? 0),
            connections: pool.open,
            waiting: pool.waiting,
            oldestWait: pool.oldestWait,
            retries: pool.retries,
            connectionsLost: pool.lost,
            standbys: (try? standbys?.integer(0)).map { Int(clamping: $0) },
            standbyLag: (try? standbys?.optionalInteger(1)) ?? nil,
            lateDayKeys: try await self.lateDayKeys()
        )
    }

    // MARK: - Private

    private static let liveServers = """
        select count(*) from node
        where not is_fenced and until >= \(DatabaseClock.now)
        """

    /// Any role sees how many there are, and only one with `pg_monitor` how far they are.
    private static let standbys = """
        select count(*), max(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::int8 from pg_stat_replication
        """
}
