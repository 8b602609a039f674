internal import Foundation
internal import PostgreSQL
package import PushStore

/// Each server only adds rows of its own, so that no server waits for another.
extension PostgreSQLStore: LimitStore {
    /// The lifetime of rows of news, in milliseconds: a server that starts still reads them.
    private static let lifetime: Int64 = 120_000
    /// The most messages read at a time.
    private static let page = 64
    /// The limit for pauses that providers request, in milliseconds: a year.
    private static let longestDelay: Int64 = 31_536_000_000

    package var limits: (any LimitStore)? { self }

    package func exchange(_ round: LimitRound) async throws -> LimitAnswer {
        do throws(DatabaseError) {
            try await self.storeNews(round)
            let read = round.read.sorted { $0.key < $1.key }
            let rows = try await self.database.query(
                Self.limitNews,
                read.map(\.key),
                read.map(\.value),
                round.process,
                Self.page
            )
            var answer = try Self.answer(rows)
            answer.pauses = try await self.pauses(except: round.process)
            return answer
        } catch {
            throw StoreError(error)
        }
    }

    package func deleteOldNews() async throws {
        do throws(DatabaseError) {
            _ = try await self.database.query(Self.oldLimitNews, Self.lifetime)
            _ = try await self.database.query(Self.oldDelays)
            _ = try await self.database.query(Self.oldPauses)
        } catch {
            throw StoreError(error)
        }
    }

    // MARK: - Private

    private func storeNews(_ round: LimitRound) async throws(DatabaseError) {
        guard !round.news.isEmpty else { return }
        if !round.news.delays.isEmpty { try await self.store(round.news.delays, of: round.process) }
        if !round.news.pauses.isEmpty { try await self.store(round.news.pauses, of: round.process) }
        _ = try await self.database.query(Self.newLimitNews, round.process, round.number, round.news.bytes)
    }

    private func store(_ delays: [LaneDelay], of process: Int64) async throws(DatabaseError) {
        let delays = delays.sorted { $0.lane < $1.lane }
        _ = try await self.database.query(
            Self.newDelays,
            delays.map(\.lane),
            delays.map { min(Int64(clamping: $0.length.components.seconds), Self.longestDelay / 1000) * 1000 + 999 },
            delays.map(\.reason),
            process
        )
    }

    private static func answer(_ rows: Rows) throws(DatabaseError) -> LimitAnswer {
        var answer = LimitAnswer()
        for index in 0..<rows.count {
            let row = rows[index]
            if let body = try row.optionalData(4) {
                let message = LimitAnswer.Message(
                    process: try row.integer(1),
                    round: try row.integer(2),
                    age: .milliseconds(max(0, try row.integer(3))),
                    news: LimitNews(bytes: body)
                )
                answer.messages.append(message)
            } else if let lane = try row.optionalText(5) {
                let delay = LaneDelay(
                    lane: lane,
                    length: .milliseconds(min(max(0, try row.integer(3)), Self.longestDelay)),
                    reason: try row.text(6),
                    number: try row.integer(2)
                )
                answer.delays.append(delay)
            } else {
                answer.servers = max(1, Int(clamping: try row.integer(2)))
            }
        }
        answer.hasMore = answer.messages.count == Self.page
        return answer
    }

    /// The server, the round, and its news.
    static let newLimitNews = """
        insert into limit_news (process, round, at, body) values ($1, $2, \(DatabaseClock.now), $3)
        on conflict (process, round) do nothing
        """

    /// The number of live servers, the pauses that providers have requested from other servers,
    /// and the news of other servers since the rounds already read.
    static let limitNews = """
        select 0::int8, 0::int8, count(*), 0::int8, null::bytea, null::text, null::text
        from node where not is_fenced and until > \(DatabaseClock.now)
        union all
        select 0, 0, r.until, r.until - \(DatabaseClock.now), null, r.lane, r.reason
        from lane_rest r where r.until > \(DatabaseClock.now) and r.process <> $3
        union all
        select * from (
            select 1::int8, n.process, n.round, \(DatabaseClock.now) - n.at, n.body, null::text, null::text
            from limit_news n left join unnest($1::int8[], $2::int8[]) as k (process, round) on k.process = n.process
            where n.process <> $3 and (k.round is null or n.round > k.round)
            order by n.process, n.round limit $4) m
        """

    /// Lanes, lengths in milliseconds and reasons, and the server; the longer pause stays.
    static let newDelays = """
        insert into lane_rest as r (lane, until, reason, process)
        select k.lane, \(DatabaseClock.now) + k.length, k.reason, $4
        from unnest($1::text[], $2::int8[], $3::text[]) as k (lane, length, reason) order by k.lane
        on conflict (lane) do update set until = excluded.until, reason = excluded.reason, process = excluded.process
        where excluded.until > r.until
        """

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
