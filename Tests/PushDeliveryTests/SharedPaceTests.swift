import Foundation
import Logging
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushDelivery

/// How several servers share the rate and the delays of pushes to one provider.
@Suite(.timeLimit(.minutes(5))) struct SharedPaceTests {
    private static let lane = Lane(Platform("apns"))
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private struct NoSender: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            throw .offline(reason: "nothing is sent here")
        }
    }

    /// A server with one lane (queue of pushes to one provider).
    private struct Sender {
        let fixture: StoreFixture
        let status = SenderStatus()
        let lane: SharedLane
        let servers = ServerCount()
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
            let limits = try #require(fixture.store.cluster)
            self.exchange = LimitExchange(
                store: limits,
                status: self.status,
                servers: self.servers,
                logger: logger
            ) { fixture.now }
        }

        var pause: Pause? { self.lane.withLock { $0.pause } }
    }

    @Test func aRetryAfterPausesTheLaneOnAllServers() async throws {
        let first = try Sender(StoreFixture(.postgreSQL, options: .silent))
        let second = try Sender(first.fixture.reopened(options: .silent))
        try first.fixture.extendLeases()
        let alice = try await first.fixture.addUser("alice")
        try await first.fixture.addDevice(of: alice, handle: "a")
        try await first.fixture.post(1, from: alice, to: "username:alice")
        let leased = try await first.fixture.lease()
        first.lane.withLock { $0.endLease([.direct: leased]) }
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
        // New credentials end the pause on this server. The exchange with the other server must
        // not restore it.
        second.status.reset(Self.lane)
        await second.exchange.exchange()
        #expect(second.pause == nil)
        #expect(second.lane.withLock { $0.servers } == 2)
        #expect(second.servers.current == 2)
    }

    // MARK: Failures

    private final class FailingStore: LimitStore {
        let rounds = Mutex<[LimitNews]>([])
        let isFailing = Mutex(true)

        func exchange(_ news: LimitNews, of process: Int64) async throws -> (others: LimitNews, servers: Int) {
            self.rounds.withLock { $0.append(news) }
            if self.isFailing.withLock({ $0 }) { throw StoreError.unavailable(reason: "gone") }
            return (LimitNews(), 1)
        }

        func deleteOldNews() async throws {}
    }

    @Test func aFailedExchangeIsRetriedAndLoggedOnce() async throws {
        let (store, status, log) = (FailingStore(), SenderStatus(), LogRecorder(logLevel: .info))
        let logger = Logger(label: "test") { _ in log }
        let lane = SharedLane(LaneSettings(Self.lane, sender: NoSender()), inFlight: 9, logger: logger)
        lane.withLock { $0.unreportedDelay = (Self.start + 60, "slow down") }
        status.watch(lane)
        let exchange = LimitExchange(store: store, status: status, servers: ServerCount(), logger: logger) {
            Self.start
        }
        for _ in 0..<3 { await exchange.exchange() }
        store.isFailing.withLock { $0 = false }
        for _ in 0..<2 { await exchange.exchange() }
        #expect(store.rounds.withLock { $0 }.map(\.delays.count) == [1, 1, 1, 1, 0])
        #expect(log.lines.count == 2)
    }
}
