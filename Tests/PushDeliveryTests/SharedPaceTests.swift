import Foundation
import Logging
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushDelivery

/// The pace of a lane on several servers.
@Suite(.timeLimit(.minutes(5))) struct SharedPaceTests {
    private static let lane = Lane(Platform("apns"))
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// A server that sends as fast as its pace allows.
    private struct Server {
        let process: Int64
        var pacer = Pacer(rate: 100)
        var shares = LaneShares()
        /// The milliseconds during which it sends.
        let times: Range<Int>

        init(_ process: Int64, times: Range<Int>) {
            self.process = process
            self.times = times
            self.pacer.share(among: LaneShares.unknown)
        }

        func sends(_ millisecond: Int) -> Bool { self.times.contains(millisecond) }
    }

    /// Lets servers send until `end`, in milliseconds, and exchange every half second in turn.
    /// Returns when each push was sent.
    private func sent(_ servers: [Server], until end: Int) -> [Int] {
        var servers = servers
        var sent: [Int] = []
        var told: [(at: Int, process: Int64)] = []
        for millisecond in 0..<end {
            let now = Self.start + Double(millisecond) / 1000
            for index in servers.indices {
                // The servers exchange at different times.
                if millisecond % 500 == index * 37 % 500 {
                    let isUsed = servers[index].sends(millisecond)
                    var answer = LimitAnswer()
                    answer.servers = servers.count
                    answer.messages = told.filter { $0.process != servers[index].process && millisecond - $0.at < 600 }
                        .map {
                            var news = LimitNews()
                            news.lanes = [Self.lane.description]
                            let age = Duration.milliseconds(millisecond - $0.at)
                            return .init(process: $0.process, round: Int64($0.at), age: age, news: news)
                        }
                    if isUsed { told.append((millisecond, servers[index].process)) }
                    servers[index].shares.record(answer, used: isUsed ? [Self.lane] : [], of: [Self.lane], now: now)
                    servers[index].pacer.share(among: servers[index].shares.count(of: Self.lane))
                }
                while servers[index].sends(millisecond), servers[index].pacer.admit(now: now) == nil {
                    sent.append(millisecond)
                }
            }
        }
        return sent
    }

    /// Returns the largest number of pushes in any second that begins in the range.
    private func most(_ sent: [Int], from range: Range<Int>) -> Int {
        stride(from: range.lowerBound, to: range.upperBound, by: 10).map { start in
            sent.count { $0 >= start && $0 < start + 1000 }
        }.max() ?? 0
    }

    @Test(arguments: [2, 3, 8]) func serversThatStartTogetherShareTheRate(count: Int) {
        let servers = (1...count).map { Server(Int64($0), times: 2000..<20_000) }
        let sent = self.sent(servers, until: 12_000)
        // Each server may send the share of a tenth of a second at once.
        #expect((90...110).contains(self.most(sent, from: 2000..<11_000)), "\(self.most(sent, from: 2000..<11_000))")
    }

    @Test(arguments: [2, 3, 8]) func joiningServersStayBelowTwiceTheRate(count: Int) {
        let servers = (1...count).map { Server(Int64($0), times: ($0 == 1 ? 0 : 5000)..<20_000) }
        let sent = self.sent(servers, until: 12_000)
        #expect((95...110).contains(self.most(sent, from: 3000..<4000)), "one server has the whole rate")
        #expect(self.most(sent, from: 4000..<6000) < 200)
        #expect((90...110).contains(self.most(sent, from: 6000..<11_000)), "\(self.most(sent, from: 6000..<11_000))")
    }

    @Test func theShareOfAServerThatEndsIsTakenOver() {
        let servers = [Server(1, times: 0..<30_000), Server(2, times: 0..<10_000)]
        let sent = self.sent(servers, until: 20_000)
        #expect(self.most(sent, from: 10_000..<19_000) <= 110)
        #expect(sent.count { (16_000..<17_000).contains($0) } >= 95)
    }

    // MARK: Rests

    private struct NoSender: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            throw .offline(reason: "nothing is sent here")
        }
    }

    /// A server with one lane.
    private struct Sender {
        let fixture: StoreFixture
        let status = SenderStatus()
        let lane: SharedLane
        let exchange: LimitExchange

        init(_ fixture: StoreFixture) throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            self.fixture = fixture
            self.lane = SharedLane(
                LaneSettings(SharedPaceTests.lane, sender: NoSender(), rate: 100),
                inFlight: 9,
                logger: logger
            )
            self.status.watch(self.lane)
            let limits = try #require(fixture.store.limits)
            self.exchange = LimitExchange(store: limits, limits: [self.status], logger: logger) { fixture.now }
        }

        var pause: Pause? { self.lane.withLock { $0.pause } }
    }

    @Test func aRetryAfterPausesTheLaneOnAllServers() async throws {
        let first = try Sender(StoreFixture(.postgreSQL))
        let second = try Sender(first.fixture.reopened())
        let alice = try await first.fixture.addUser("alice")
        try await first.fixture.addDevice(of: alice, handle: "a")
        try await first.fixture.post(1, from: alice, to: "username:alice")
        let leased = try await first.fixture.lease()
        first.lane.withLock { $0.endLease([.direct: leased], now: first.fixture.now) }
        guard case .send(let push) = first.lane.withLock({ $0.next(now: first.fixture.now) }) else {
            Issue.record("there is nothing to send")
            return
        }
        let outcome = SendOutcome.failure(.overloaded(reason: "slow down", retryAfter: .seconds(60)))
        _ = first.lane.withLock { $0.record(outcome, of: push, now: first.fixture.now, jitter: 1) }
        await first.exchange.exchange()
        await second.exchange.exchange()
        let pause = try #require(second.pause)
        #expect(pause.cause == .overloaded)
        #expect(pause.reason == "slow down")
        #expect((20...62).contains(pause.until.timeIntervalSince(second.fixture.now)))
        #expect(second.lane.withLock { $0.beginLease(of: [.direct], batch: 1, now: second.fixture.now) } == nil)
        // New credentials end the pause here, and it does not return.
        second.status.reset(Self.lane)
        await second.exchange.exchange()
        #expect(second.pause == nil)
        #expect(second.lane.withLock { $0.servers } == 2, "the other one sends")
    }

    // MARK: Failures

    private final class FailingStore: LimitStore {
        let rounds = Mutex<[(number: Int64, news: LimitNews)]>([])
        let isFailing = Mutex(true)

        func exchange(_ round: LimitRound) async throws -> LimitAnswer {
            self.rounds.withLock { $0.append((round.number, round.news)) }
            if self.isFailing.withLock({ $0 }) { throw StoreError.unavailable(reason: "gone") }
            return LimitAnswer()
        }

        func deleteOldNews() async throws {}
    }

    private final class OneLane: SharedLimit {
        let count = Mutex(0)

        func takeNews(into news: inout LimitNews, now: Date) {
            let count = self.count.withLock { count in
                count += 1
                return count
            }
            news.lanes.append("lane \(count)")
        }

        func apply(_ answer: LimitAnswer, now: Date) {}
    }

    @Test func aFailedExchangeIsRetriedAndLoggedOnce() async throws {
        let (store, log) = (FailingStore(), LogRecorder(logLevel: .info))
        let logger = Logger(label: "test") { _ in log }
        let exchange = LimitExchange(store: store, limits: [OneLane()], logger: logger) { Self.start }
        for _ in 0..<3 { await exchange.exchange() }
        store.isFailing.withLock { $0 = false }
        for _ in 0..<2 { await exchange.exchange() }
        let rounds = store.rounds.withLock { $0 }
        #expect(rounds.map(\.number) == [1, 1, 1, 1, 2])
        #expect(rounds.map { $0.news.lanes } == [["lane 1"], ["lane 1"], ["lane 1"], ["lane 1"], ["lane 2"]])
        #expect(log.lines.count == 2)
    }
}
