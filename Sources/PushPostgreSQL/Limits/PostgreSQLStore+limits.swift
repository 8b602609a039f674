internal import Foundation
internal import PostgreSQL
package import PushStore

extension PostgreSQLStore: LimitStore {
    /// The lifetime in milliseconds of rows in `limit_news`, which only servers of an older
    /// version write.
    private static let lifetime: Int64 = 120_000
    /// The maximum pause at a provider's request, in milliseconds: a year.
    private static let longestDelay: Int64 = 31_536_000_000

    package var limits: (any LimitStore)? { self }

    package func exchange(_ news: LimitNews, of process: Int64) async throws -> LimitAnswer {
        if !news.delays.isEmpty { try await self.store(news.delays, of: process) }
        if !news.pauses.isEmpty { try await self.store(news.pauses, of: process) }
        var answer = try await self.read(Self.limitNews, values: [process]) { try Self.answer($0) }
        answer.pauses = try await self.read(Self.pausesOfOthers, values: [process]) { try Self.pauses($0) }
        return answer
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

    private static func answer(_ rows: Rows) throws -> LimitAnswer {
        var answer = LimitAnswer()
        for row in rows {
            guard let lane = try row.optionalText(2) else {
                answer.servers = Int(clamping: try row.integer(0))
                continue
            }
            let delay = LaneDelay(
                lane: lane,
                length: .milliseconds(min(max(0, try row.integer(1)), Self.longestDelay)),
                reason: try row.text(3),
                number: try row.integer(0)
            )
            answer.delays.append(delay)
        }
        return answer
    }

    /// Selects the number of live servers, and the pauses that providers have requested from other
    /// servers.
    static let limitNews = """
        select count(*), 0::int8, null::text, null::text
        from node where not is_fenced and until > \(DatabaseClock.now)
        union all
        select r.until, r.until - \(DatabaseClock.now), r.lane, r.reason
        from lane_rest r where r.until > \(DatabaseClock.now) and r.process <> $1
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
}
