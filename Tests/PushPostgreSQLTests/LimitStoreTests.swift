import Foundation
import PostgreSQL
import PushCore
import PushPostgreSQL
import PushStore
import PushTesting
import Testing

/// Servers tell each other, through the database, about delays and pauses of sending.
@Suite(.timeLimit(.minutes(5))) struct LimitStoreTests {
    private let servers: [StoreFixture]

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL, options: .silent)
        self.servers = [fixture, try fixture.reopened(options: .silent)]
        try fixture.extendLeases()
    }

    private func exchange(
        _ server: Int,
        process: Int64,
        _ news: LimitNews = LimitNews()
    ) async throws -> (others: LimitNews, servers: Int) {
        try await #require(self.servers[server].store.cluster).exchange(news, of: process)
    }

    private func exchange(_ server: Int, process: Int64, _ delay: LaneDelay) async throws {
        var news = LimitNews()
        news.delays = [delay]
        _ = try await self.exchange(server, process: process, news)
    }

    @Test func aServerThatEndsIsNotCounted() async throws {
        #expect(try await self.exchange(0, process: 7).servers == 2)
        await self.servers[1].store.close()
        #expect(try await self.exchange(0, process: 7).servers == 1)
    }

    @Test func theLongestRetryAfterOfALaneReachesTheOthers() async throws {
        let delays = [300, 900, 600].map { LaneDelay(lane: "apns", length: .seconds($0), reason: "for \($0)") }
        for delay in delays { try await self.exchange(0, process: 7, delay) }
        let told = try #require(try await self.exchange(1, process: 8).others.delays.first)
        #expect(told.reason == "for 900")
        #expect((Duration.seconds(600) ..< .seconds(902)).contains(told.length))
        #expect(try await self.exchange(0, process: 7).others.delays.isEmpty)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .zero, .seconds(-5)])
    func extremeRetryAfterValuesAreClamped(length: Duration) async throws {
        let delay = LaneDelay(lane: "apns", length: length, reason: "")
        try await self.exchange(0, process: 7, delay)
        let told = try await self.exchange(1, process: 8).others.delays
        #expect(told.allSatisfy { $0.length <= .seconds(31_536_000) })
    }

    // MARK: Pauses

    private func pause(_ reason: String, length: Int, delayCount: Int = 1) -> LimitNews {
        var news = LimitNews()
        let ongoing = LanePause.Ongoing(
            cause: .outage,
            reason: reason,
            age: .seconds(5),
            length: .seconds(length),
            delayCount: delayCount
        )
        news.pauses = [LanePause(lane: "apns", ongoing)]
        return news
    }

    private var over: LimitNews {
        var news = LimitNews()
        news.pauses = [LanePause(lane: "apns", nil)]
        return news
    }

    private func acquireProbe(_ server: Int) async throws -> Bool {
        try await #require(self.servers[server].store.cluster).acquireProbe(of: Lane(Platform("apns")))
    }

    @Test func aPauseIsSharedUntilItEnds() async throws {
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 300))
        let told = try #require(try await self.exchange(1, process: 8).others.pauses.first)
        let ongoing = try #require(told.ongoing)
        #expect(ongoing.cause == .outage && ongoing.reason == "gone" && ongoing.delayCount == 1)
        #expect((Duration.zero ... .seconds(301)).contains(ongoing.length))
        #expect((Duration.seconds(5) ..< .seconds(300)).contains(ongoing.age))
        #expect(try await self.exchange(0, process: 7).others.pauses.isEmpty, "it has told itself")
        // A shorter pause of another server must not shorten the stored pause.
        _ = try await self.exchange(1, process: 8, self.pause("still gone", length: 1))
        let longer = try #require(try await self.exchange(0, process: 7).others.pauses.first)
        #expect(longer.number > told.number)
        #expect(try #require(longer.ongoing).length > .seconds(5))
        _ = try await self.exchange(1, process: 8, self.over)
        let last = try #require(try await self.exchange(0, process: 7).others.pauses.first)
        #expect(last.ongoing == nil && last.number > longer.number)
    }

    @Test func aPausedLaneIsProbedByOneServer() async throws {
        #expect(try await self.acquireProbe(0), "there is no pause that others know of")
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 60))
        #expect(try await !self.acquireProbe(0), "it is not over")
        _ = try await self.exchange(0, process: 7, self.over)
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 0))
        #expect(try await self.acquireProbe(0))
        #expect(try await !self.acquireProbe(1))
        #expect(try await self.acquireProbe(0), "a push that could not be leased is no probe")
        // The probe (the push that tests the provider) has failed. Any server may send the next
        // probe.
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 0, delayCount: 2))
        #expect(try await self.acquireProbe(1))
        #expect(try await !self.acquireProbe(0))
        _ = try await self.exchange(1, process: 8, self.over)
        #expect(try await self.acquireProbe(0), "there is none any more")
    }

    @Test func theProbeOfADeadServerIsTakenOver() async throws {
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 0))
        #expect(try await self.acquireProbe(0))
        await self.servers[0].store.close()
        #expect(try await self.acquireProbe(1))
    }

    @Test func cleanupKeepsDelaysThatHaveNotEnded() async throws {
        try await self.exchange(0, process: 7, LaneDelay(lane: "apns", length: .seconds(60), reason: ""))
        try await self.servers[0].store.cluster?.deleteOldNews()
        #expect(try await self.exchange(1, process: 8).others.delays.count == 1)
    }
}
