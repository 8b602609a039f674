import Foundation
import PostgreSQL
import PushCore
import PushPostgreSQL
import PushStore
import PushTesting
import Testing

/// The limits that servers send each other through the database.
@Suite(.timeLimit(.minutes(5))) struct LimitStoreTests {
    private let servers: [StoreFixture]

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        self.servers = [fixture, try fixture.reopened()]
    }

    private func news(_ lanes: String..., delays: [LaneDelay] = []) -> LimitNews {
        var news = LimitNews()
        news.lanes = lanes
        news.delays = delays
        return news
    }

    private func exchange(
        _ server: Int,
        process: Int64,
        number: Int64 = 1,
        _ news: LimitNews = LimitNews(),
        read: [Int64: Int64] = [:]
    ) async throws -> LimitAnswer {
        let limits = try #require(self.servers[server].store.limits)
        return try await limits.exchange(LimitRound(process: process, number: number, news: news, read: read))
    }

    @Test func eachServerReceivesTheOthersNewsOnce() async throws {
        #expect(try await self.exchange(0, process: 7, self.news("a")).messages.isEmpty)
        _ = try await self.exchange(0, process: 7, number: 2, self.news("b"))
        // Repeats the same round, as after a lost answer.
        _ = try await self.exchange(0, process: 7, number: 2, self.news("c"))
        let first = try await self.exchange(1, process: 8)
        #expect(first.messages.map(\.news) == [self.news("a"), self.news("b")])
        #expect(first.messages.map(\.round) == [1, 2])
        #expect(first.messages.allSatisfy { (.zero ..< .seconds(60)).contains($0.age) })
        #expect(first.servers == 2)
        #expect(try await self.exchange(1, process: 8, read: [7: 1]).messages.map(\.round) == [2])
        #expect(try await self.exchange(1, process: 8, read: [7: 2, 9: 3]).messages.isEmpty)
    }

    @Test func aStartingServerReadsExistingNewsInPages() async throws {
        for number in 1...70 { _ = try await self.exchange(0, process: 7, number: Int64(number), self.news("a")) }
        let first = try await self.exchange(1, process: 8)
        #expect(first.hasMore)
        let last = try #require(first.messages.last)
        let second = try await self.exchange(1, process: 8, read: [7: last.round])
        #expect(!second.hasMore)
        #expect((first.messages + second.messages).map(\.round) == Array(1...70))
    }

    @Test func aServerThatEndsIsNotCounted() async throws {
        await self.servers[1].store.close()
        #expect(try await self.exchange(0, process: 7).servers == 1)
    }

    @Test func theLongestRetryAfterOfALaneReachesTheOthers() async throws {
        let delays = [30, 90, 60].map { LaneDelay(lane: "apns", length: .seconds($0), reason: "for \($0)") }
        for (number, delay) in delays.enumerated() {
            _ = try await self.exchange(0, process: 7, number: Int64(number), self.news(delays: [delay]))
        }
        let told = try #require(try await self.exchange(1, process: 8).delays.first)
        #expect(told.reason == "for 90")
        #expect((Duration.seconds(60) ..< .seconds(92)).contains(told.length))
        #expect(try await self.exchange(0, process: 7).delays.isEmpty)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .zero, .seconds(-5)])
    func extremeRetryAfterValuesAreClamped(length: Duration) async throws {
        let delay = LaneDelay(lane: "apns", length: length, reason: "")
        _ = try await self.exchange(0, process: 7, self.news(delays: [delay]))
        let told = try await self.exchange(1, process: 8).delays
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
        try await self.servers[server].store.acquireProbe(of: Lane(Platform("apns")))
    }

    @Test func aPauseIsSharedUntilItEnds() async throws {
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 30))
        let told = try #require(try await self.exchange(1, process: 8).pauses.first)
        let ongoing = try #require(told.ongoing)
        #expect(ongoing.cause == .outage && ongoing.reason == "gone" && ongoing.delayCount == 1)
        #expect((Duration.zero ... .seconds(31)).contains(ongoing.length))
        #expect((Duration.seconds(5) ..< .seconds(60)).contains(ongoing.age))
        #expect(try await self.exchange(0, process: 7).pauses.isEmpty, "it has told itself")
        // A shorter pause that is added does not shorten it.
        _ = try await self.exchange(1, process: 8, self.pause("still gone", length: 1))
        let longer = try #require(try await self.exchange(0, process: 7).pauses.first)
        #expect(longer.number > told.number)
        #expect(try #require(longer.ongoing).length > .seconds(5))
        _ = try await self.exchange(1, process: 8, number: 2, self.over)
        let last = try #require(try await self.exchange(0, process: 7).pauses.first)
        #expect(last.ongoing == nil && last.number > longer.number)
    }

    @Test func aPausedLaneIsProbedByOneServer() async throws {
        #expect(try await self.acquireProbe(0), "there is no pause that others know of")
        _ = try await self.exchange(0, process: 7, self.pause("gone", length: 60))
        #expect(try await !self.acquireProbe(0), "it is not over")
        _ = try await self.exchange(0, process: 7, number: 2, self.over)
        _ = try await self.exchange(0, process: 7, number: 3, self.pause("gone", length: 0))
        #expect(try await self.acquireProbe(0))
        #expect(try await !self.acquireProbe(1))
        #expect(try await self.acquireProbe(0), "a push that could not be leased is no probe")
        // The probe has failed, and any server may send the next one.
        _ = try await self.exchange(0, process: 7, number: 4, self.pause("gone", length: 0, delayCount: 2))
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

    @Test func cleanupKeepsRecentNews() async throws {
        _ = try await self.exchange(0, process: 7, self.news("a"))
        try await self.servers[0].store.limits?.deleteOldNews()
        #expect(try await self.exchange(1, process: 8).messages.count == 1)
    }
}
