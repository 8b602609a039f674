internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore: Cluster {
    /// The lifetime in milliseconds of rows in `limit_news`, which only servers of an older
    /// version write.
    private static let lifetime: Int64 = 120_000
    /// The maximum pause at a provider's request, in milliseconds: a year.
    private static let longestDelay: Int64 = 31_536_000_000

    package var cluster: (any Cluster)? { self }

    package func exchange(_ news: LimitNews, of process: Int64) async throws -> (others: LimitNews, servers: Int) {
        if !news.delays.isEmpty { try await self.store(news.delays, of: process) }
        if !news.pauses.isEmpty { try await self.store(news.pauses, of: process) }
        let servers = try await self.countServers()
        var others = LimitNews()
        others.delays = try await self.read(Self.delaysOfOthers, values: [process]) { try $0.map(Self.delay) }
        others.pauses = try await self.read(Self.pausesOfOthers, values: [process]) { try Self.pauses($0) }
        return (others, servers)
    }

    package func deleteOldNews() async throws {
        _ = try await self.read(Self.oldLimitNews, Self.lifetime)
        _ = try await self.read(Self.oldDelays)
        _ = try await self.read(Self.oldPauses)
    }

    // MARK: - Private

    private func store(_ delays: [LaneDelay], of process: Int64) async throws(StoreError) {
        let delays = delays.sorted { $0.lane < $1.lane }
        _ = try await self.read(
            Self.newDelays,
            delays.map(\.lane),
            delays.map { min(Int64(clamping: $0.length.components.seconds), Self.longestDelay / 1000) * 1000 + 999 },
            delays.map(\.reason),
            process
        )
    }

    private static func delay(_ row: Row) throws -> LaneDelay {
        let length = Duration.milliseconds(min(max(0, try row.integer("length")), Self.longestDelay))
        let (lane, reason, number) = (try row.text("lane"), try row.text("reason"), try row.integer("until"))
        return LaneDelay(lane: lane, length: length, reason: reason, number: number)
    }

    /// Selects the pauses that providers have requested from other servers.
    static let delaysOfOthers = """
        select lane, until, until - \(DatabaseClock.now) as length, reason
        from lane_rest where until > \(DatabaseClock.now) and process <> $1
        """

    /// Inserts pauses that providers have requested. The parameters are lanes (queues of pushes to
    /// one provider), durations in milliseconds, reasons, and the server. If a lane already has a
    /// pause that ends later, that pause stays.
    static let newDelays = """
        insert into lane_rest as r (lane, until, reason, process)
        select k.lane, \(DatabaseClock.now) + k.length, k.reason, $4
        from unnest($1::text[], $2::int8[], $3::text[]) as k (lane, length, reason) order by k.lane
        on conflict (lane) do update set until = excluded.until, reason = excluded.reason, process = excluded.process
        where excluded.until > r.until
        """

    /// Deletes old rows of `limit_news`. Only servers of an older version write this table, and a
    /// later version will drop it.
    static let oldLimitNews = """
        delete from limit_news n using (
            select process, round from limit_news where at < \(DatabaseClock.now) - $1
            order by process, round for update skip locked) o
        where n.process = o.process and n.round = o.round
        """

    static let oldDelays = """
        delete from lane_rest r using (
            select lane from lane_rest where until < \(DatabaseClock.now) order by lane for update skip locked) o
        where r.lane = o.lane
        """

    // MARK: The pauses of lanes, which all servers observe

    /// The maximum pause in the table `lane_pause`. A provider may request a longer pause, which
    /// is stored in another table.
    private static let longestPause = Duration.seconds(86_400)
    /// The time in milliseconds that a server has for a probe (a push that tests the provider)
    /// before another server may send one. If the server dies, another server may send one
    /// earlier.
    private static let probeTime: Int64 = 60_000
    /// The maximum for `delayCount`, the number of delays in a pause so far. A higher number would
    /// not make the next delay longer.
    private static let maximumDelays: Int64 = 1000
    /// The tolerated difference in milliseconds between the clocks of servers that compare the end
    /// of a pause.
    private static let tolerance: Int64 = 250

    package func acquireProbe(of lane: Lane) async throws -> Bool {
        let (lane, server) = (lane.description, self.membership.number)
        let rows = try await self.read(Self.probeAcquisition, lane, server, Self.probeTime, Self.tolerance)
        return try rows[0].flag()
    }

    /// Stores pauses that have begun, were extended, or have ended. If this server was testing one
    /// of their lanes (providers' queues) with a probe, the call also ends that probe.
    func store(_ pauses: [LanePause], of process: Int64) async throws(StoreError) {
        let pauses = pauses.sorted { $0.lane < $1.lane }
        let over = pauses.filter { $0.ongoing == nil }.map(\.lane)
        if !over.isEmpty { _ = try await self.read(Self.endPauses, over, process) }
        let parts = pauses.compactMap(\.ongoing)
        if parts.isEmpty { return }
        _ = try await self.read(
            Self.newPauses,
            pauses.filter { $0.ongoing != nil }.map(\.lane),
            parts.map(\.cause.rawValue),
            parts.map(\.reason),
            parts.map { Self.milliseconds($0.age) },
            parts.map { Self.milliseconds($0.length) },
            parts.map { Int64($0.delayCount) },
            process,
            self.membership.number
        )
    }

    /// For each lane (a provider's queue), its last pause, if another server has stored that
    /// pause.
    static func pauses(_ rows: Rows) throws -> [LanePause] {
        try rows.compactMap { row in
            let (lane, number) = (try row.text("lane"), try row.integer("number"))
            if try row.flag("is_over") { return LanePause(lane: lane, nil, number: number) }
            // A cause that only a later version knows is skipped.
            guard let cause = Pause.Cause(rawValue: try row.text("cause")) else { return nil }
            let ongoing = LanePause.Ongoing(
                cause: cause,
                reason: try row.text("reason"),
                age: .milliseconds(try row.integer("age")),
                length: min(.milliseconds(try row.integer("length")), Self.longestPause),
                delayCount: Int(min(max(0, try row.integer("rests")), Self.maximumDelays))
            )
            return LanePause(lane: lane, ongoing, number: number)
        }
    }

    // MARK: - Private

    private static func milliseconds(_ duration: Duration) -> Int64 {
        let bounded = max(.zero, min(duration, Self.longestPause))
        return bounded.components.seconds * 1000 + bounded.components.attoseconds / 1_000_000_000_000_000
    }

    /// The server whose probe (test push) has failed determines the length of the next pause.
    /// Other servers can only extend that pause.
    static let newPauses = """
        insert into lane_pause as r (lane, number, cause, reason, since, until, rests, is_over, process)
        select k.lane, 1, k.cause, k.reason, \(DatabaseClock.now) - k.age, \(DatabaseClock.now) + k.length, k.rests, false, $7
        from unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[])
            as k (lane, cause, reason, age, length, rests)
        order by k.lane
        on conflict (lane) do update set number = r.number + 1, cause = excluded.cause, reason = excluded.reason,
            since = case when r.is_over then excluded.since else least(r.since, excluded.since) end,
            until = case when r.is_over or r.prober = $8 then excluded.until else greatest(r.until, excluded.until) end,
            rests = case when r.is_over then excluded.rests else greatest(r.rests, excluded.rests) end,
            is_over = false, process = excluded.process,
            prober = case when r.prober = $8 then null else r.prober end
        """

    static let endPauses = """
        update lane_pause set number = number + 1, is_over = true, prober = null, process = $2
        where lane = any($1::text[]) and not is_over
        """

    static let pausesOfOthers = """
        select lane, number, cause, reason, \(DatabaseClock.now) - since as age, until - \(DatabaseClock.now) as length,
            rests, is_over
        from lane_pause where process <> $1
        """

    /// Selects whether the server `$2` may send a probe (test push) to the lane `$1`. If no pause
    /// is stored for the lane, the server may.
    static let probeAcquisition = """
        with claimed as (
            update lane_pause r set prober = $2, probe_until = \(DatabaseClock.now) + $3
            where r.lane = $1 and not r.is_over and r.until <= \(DatabaseClock.now) + $4
                and (r.prober is null or r.prober = $2 or r.probe_until < \(DatabaseClock.now)
                    or r.prober <> all \(StreamHolder.activeServers))
            returning r.lane)
        select exists (select 1 from claimed)
            or not exists (select 1 from lane_pause p where p.lane = $1 and not p.is_over)
        """

    /// Deletes pauses whose last delay ended an hour ago: they are over, or no push was due that
    /// could test the provider.
    static let oldPauses = """
        delete from lane_pause r using (
            select lane from lane_pause where until < \(DatabaseClock.now) - 3600000 order by lane
            for update skip locked) o
        where r.lane = o.lane
        """
}
