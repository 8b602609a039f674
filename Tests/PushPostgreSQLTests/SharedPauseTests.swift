import Foundation
import Logging
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushDelivery

/// Several servers that send pushes to the same provider, which fails.
@Suite(.timeLimit(.minutes(5))) struct SharedPauseTests {
    private static let lane = Lane(Platform("apns"))
    private static let failure = SendOutcome.failure(.unavailable(reason: "gone"))

    private struct NoSender: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            throw .offline(reason: "nothing is sent here")
        }
    }

    /// A server with one lane (queue of pushes to one provider).
    private struct Server {
        let fixture: StoreFixture
        let lane: SharedLane
        let exchange: LimitExchange
        let push: LeasedDelivery

        init(_ fixture: StoreFixture, _ push: LeasedDelivery) throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let status = SenderStatus()
            (self.fixture, self.push) = (fixture, push)
            let settings = LaneSettings(SharedPauseTests.lane, sender: NoSender())
            self.lane = SharedLane(settings, inFlight: 1000, logger: logger)
            status.watch(self.lane)
            let limits = try #require(fixture.store.cluster)
            self.exchange = LimitExchange(store: limits, status: status, servers: ServerCount(), logger: logger) {
                fixture.now
            }
        }

        var pause: Pause? { self.lane.withLock { $0.pause } }
        var delayCount: Int { self.lane.withLock { $0.health.delayCount } }

        /// Simulates that the server sends a push with this outcome, if its lane allows a push
        /// now.
        func send(_ outcome: SendOutcome) {
            self.lane.withLock { state in
                if state.pause == nil {
                    state.endLease([.direct: [self.push]])
                } else {
                    state.endLease(probe: self.push)
                }
                guard case .send(let push) = state.next(now: self.fixture.now) else { return }
                _ = state.record(outcome, of: push, now: self.fixture.now, jitter: 1)
                _ = state.end(push, as: .released)
            }
        }

        func fail() {
            for _ in 0..<SenderHealth.failuresInARow { self.send(SharedPauseTests.failure) }
        }

        /// Returns whether this server may send the next probe, the push that tests the provider.
        func acquireProbe() async throws -> Bool {
            guard self.lane.withLock({ $0.isPauseShared }) else { return true }
            if try await #require(self.fixture.store.cluster).acquireProbe(of: SharedPauseTests.lane) { return true }
            self.lane.withLock { $0.postponeProbe(now: self.fixture.now) }
            return false
        }
    }

    private let servers: [Server]

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL, options: .patient)
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a")
        try await fixture.post(1, from: alice, to: "username:alice")
        let push = try #require(try await fixture.lease().first)
        self.servers = try [Server(fixture, push), Server(fixture.reopened(options: .patient), push)]
    }

    /// All servers first write their pauses, and then read those of the others.
    private func exchange() async {
        for _ in 0..<2 {
            for server in self.servers { await server.exchange.exchange() }
        }
    }

    /// Advances the clocks of all servers and of the database beyond the end of the pause.
    private func passTheRest() async throws {
        for server in self.servers { server.fixture.clock.advance(by: 1000) }
        let address = try FolderDatabases.database(of: self.servers[0].fixture.folder)
        try BlockingConnection(address).execute("update lane_pause set until = 0")
    }

    @Test func serversThatFailTogetherSendOneProbePerRound() async throws {
        for server in self.servers { server.fail() }
        await self.exchange()
        var probes = 0
        for round in 1...6 {
            #expect(self.servers.map(\.delayCount) == [round, round])
            try await self.passTheRest()
            // The servers take turns in asking first whether they may send the probe.
            for server in round % 2 == 0 ? self.servers : self.servers.reversed() {
                guard try await server.acquireProbe() else { continue }
                probes += 1
                server.send(Self.failure)
            }
            await self.exchange()
        }
        #expect(probes == 6)
        // The provider accepts the next probe, which ends the pause on all servers.
        try await self.passTheRest()
        #expect(try await self.servers[1].acquireProbe())
        self.servers[1].send(.success(Acceptance()))
        await self.exchange()
        #expect(self.servers.allSatisfy { $0.pause == nil })
    }

    @Test func aServerThatHasNotFailedJoinsThePause() async throws {
        self.servers[0].fail()
        await self.exchange()
        let (own, joined) = (try #require(self.servers[0].pause), try #require(self.servers[1].pause))
        #expect(joined.cause == .outage && joined.reason == own.reason)
        #expect(self.servers[1].lane.withLock { $0.beginLease(of: [.direct], batch: 1, now: joined.since) } == nil)
    }

    @Test func aServerThatIsAnsweredLeavesThePause() async throws {
        self.servers[0].fail()
        await self.servers[0].exchange.exchange()
        self.servers[1].fixture.clock.advance(by: 1)
        self.servers[1].send(.success(Acceptance()))
        await self.servers[1].exchange.exchange()
        #expect(self.servers[1].pause == nil)
        // The pause begins again on this server only when its own push fails.
        self.servers[1].fail()
        await self.exchange()
        #expect(self.servers[1].pause != nil)
    }

    /// A server may fail alone, for example if only its own route to the provider is cut.
    @Test func aServerThatFailsAfterAnothersProbePausesAlone() async throws {
        self.servers[0].fail()
        await self.exchange()
        try await self.passTheRest()
        #expect(try await self.servers[1].acquireProbe())
        self.servers[1].send(.success(Acceptance()))
        await self.exchange()
        #expect(self.servers[0].pause == nil)
        self.servers[0].fail()
        await self.exchange()
        #expect(self.servers[0].pause != nil)
        #expect(self.servers[1].pause == nil)
        #expect(try await self.servers[0].acquireProbe(), "it probes for itself")
    }

    @Test func aMisconfigurationPausesOnlyItsServer() async throws {
        self.servers[0].send(.failure(.misconfigured(reason: "BadCertificate")))
        await self.exchange()
        #expect(self.servers[0].pause?.cause == .misconfigured)
        #expect(self.servers[1].pause == nil)
    }

    @Test func newCredentialsEndOnlyTheirServersPause() async throws {
        self.servers[0].fail()
        await self.exchange()
        self.servers[1].lane.withLock { $0.resetHealth() }
        await self.exchange()
        #expect(self.servers.map { $0.pause == nil } == [false, true])
    }
}
