import Foundation
import Logging
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushDelivery

@Suite(.timeLimit(.minutes(5))) struct LaneStateTests {
    private let fixture: StoreFixture
    private let lane: SharedLane
    private let log = LogRecorder()
    private var now: Date { self.fixture.now }

    /// Makes a lane (queue of pushes to one provider) with four leased pushes. It may send two at
    /// a time.
    init() async throws {
        self.fixture = try StoreFixture()
        let lane = LaneSettings(Lane(Platform("apns")), sender: NoSender(), concurrency: 2)
        let log = self.log
        self.lane = SharedLane(lane, inFlight: 3, logger: Logger(label: "test") { _ in log })
        let alice = try await self.fixture.addUser("alice")
        for number in 0..<4 { try await self.fixture.addDevice(of: alice, handle: "a\(number)") }
        try await self.fixture.post(1, from: alice, to: "username:alice")
        let leased = try await self.fixture.lease()
        self.lane.withLock { $0.endLease([.direct: leased]) }
    }

    private struct NoSender: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            throw .offline(reason: "nothing is sent here")
        }
    }

    private func next() throws -> LeasedDelivery {
        guard case .send(let delivery) = self.lane.withLock({ $0.next(now: self.now) }) else { throw Stopped() }
        return delivery
    }

    private struct Stopped: Error {}

    private func end(_ delivery: LeasedDelivery, with failure: SendFailure) {
        let outcome = SendOutcome.failure(failure)
        let blame = self.lane.withLock { $0.record(outcome, of: delivery, now: self.now, jitter: 1) }
        _ = self.lane.withLock {
            $0.end(delivery, as: delivery.state.settlement(of: outcome, blame: blame, now: self.now, jitter: 1))
        }
        self.lane.withLock { $0.endWorker() }
    }

    @Test func workersAreLimitedToTheConcurrency() throws {
        #expect(self.lane.withLock { $0.beginWorkers(now: self.now) } == 2)
        #expect(self.lane.withLock { $0.beginWorkers(now: self.now) } == 0)
    }

    @Test func pushesCountAsInFlightUntilTheyAreSettled() throws {
        for _ in 0..<3 { self.end(try self.next(), with: .rejected(reason: "no")) }
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.lane.withLock { $0.beginSettling(after: .zero) }.count == 3)
        self.lane.withLock { $0.endSettling() }
        _ = try self.next()
    }

    @Test func aFailedSettlementIsRetried() throws {
        self.end(try self.next(), with: .rejected(reason: "no"))
        let ended = self.lane.withLock { $0.beginSettling(after: .zero) }
        self.lane.withLock { $0.endSettling(butKeeping: ended) }
        #expect(self.lane.withLock { $0.beginSettling(after: .zero) }.map(\.0) == ended.map(\.0))
    }

    @Test func aPausedLaneStartsNothingAndReleasesItsLeases() throws {
        let first = try self.next()
        self.end(first, with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        #expect(self.lane.withLock { $0.beginWorkers(now: self.now) } == 0)
        #expect(self.lane.withLock { $0.releaseWhilePaused(now: self.now) } == self.now + 60)
        let ended = self.lane.withLock { $0.beginSettling(after: .zero) }
        #expect(ended.map(\.1) == [.retried(at: self.now + 60, reason: "later"), .released, .released, .released])
        self.fixture.clock.advance(by: 60)
        #expect(self.lane.withLock { $0.releaseWhilePaused(now: self.now) } == nil)
        let plan = LaneState.LeasePlan.probe(ProbeChoice(.known, avoiding: []))
        #expect(self.lane.withLock { $0.beginLease(of: [.direct, .bulk], batch: 100, now: self.now) } == plan)
    }

    @Test func onlyRescheduledAttemptsCountAsRetries() throws {
        let settlements: [Settlement] = [
            .retried(at: self.now + 60, reason: "later"), .accepted(providerID: nil), .failed(reason: "no"),
            .away(reason: "no event stream is open"),
        ]
        for settlement in settlements {
            let delivery = try self.next()
            _ = self.lane.withLock { $0.end(delivery, as: settlement) }
            _ = self.lane.withLock { $0.beginSettling(after: .zero) }
            self.lane.withLock { $0.endSettling() }
        }
        #expect(self.lane.withLock { $0.retries } == 1)
    }

    /// Pauses the lane, returns three pushes to the queue, and advances the clock until the next
    /// probe is due.
    private func pause() throws -> [LeasedDelivery] {
        let others = try (0..<4).map { _ in
            let delivery = try self.next()
            _ = self.lane.withLock { $0.end(delivery, as: .released) }
            _ = self.lane.withLock { $0.beginSettling(after: .zero) }
            self.lane.withLock { $0.endSettling() }
            return delivery
        }
        self.lane.withLock { $0.endLease([.direct: [others[0]]]) }
        self.end(try self.next(), with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        _ = self.lane.withLock { $0.beginSettling(after: .zero) }
        self.lane.withLock { $0.endSettling() }
        self.fixture.clock.advance(by: 60)
        return Array(others.dropFirst())
    }

    private func lease() -> LaneState.LeasePlan? {
        self.lane.withLock { $0.beginLease(of: [.direct], batch: 100, now: self.now) }
    }

    /// A paused lane may send only a probe. Pushes that were leased before the pause were not
    /// chosen as probes, and may belong to a user whom probes avoid.
    @Test func aPausedLaneSendsOnlyPushesLeasedAsProbes() throws {
        let others = try self.pause()
        self.lane.withLock { $0.endLease([.direct: others]) }
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.lane.withLock { $0.beginWorkers(now: self.now) } == 0)
        #expect(self.lane.withLock { $0.releaseWhilePaused(now: self.now) } == nil)
        #expect(self.lane.withLock { $0.beginSettling(after: .zero) }.map(\.1) == [.released, .released, .released])
        self.lane.withLock { $0.endSettling() }
        #expect(self.lease() == .probe(ProbeChoice(.known, avoiding: [])))
        self.lane.withLock { $0.endLease(probe: others[1]) }
        #expect(self.lease() == nil)
        #expect(self.lane.withLock { $0.beginWorkers(now: self.now) } == 1)
        #expect(try self.next() == others[1])
        #expect(throws: Stopped.self) { try self.next() }
    }

    @Test func anUnsentProbeIsReleased() throws {
        let others = try self.pause()
        _ = self.lease()
        self.lane.withLock { $0.endLease(probe: others[0]) }
        self.lane.withLock { $0.stop() }
        #expect(self.lane.withLock { $0.beginSettling(after: .zero) }.map(\.0) == [others[0]])
    }

    /// After each kind of end of the first probe, another probe must become possible, because only
    /// a probe ends the pause.
    @Test(arguments: [Settlement.expired, .released, .retried(at: .distantFuture, reason: "withdrawn")])
    func aProbeThatEndsUnansweredIsFollowedByAnother(settlement: Settlement) throws {
        let others = try self.pause()
        _ = self.lease()
        self.lane.withLock { $0.endLease(probe: others[0]) }
        let probe = try self.next()
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.lease() == nil)
        _ = self.lane.withLock { $0.end(probe, as: settlement) }
        #expect(self.lease() == .probe(ProbeChoice(.known, avoiding: [])))
        self.lane.withLock { $0.endLease(probe: others[1]) }
        _ = try self.next()
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.lane.withLock { $0.pause }?.reason == "later")
    }

    @Test func anAnsweredProbeResumesTheLane() throws {
        let others = try self.pause()
        _ = self.lease()
        self.lane.withLock { $0.endLease(probe: others[0]) }
        self.end(try self.next(), with: .rejected(reason: "no"))
        #expect(self.lane.withLock { $0.pause } == nil)
        self.lane.withLock { $0.endLease([.direct: Array(others.dropFirst())]) }
        _ = try self.next()
        _ = try self.next()
    }

    // MARK: Logs and counts for operators

    @Test func aPauseItsReasonAndItsEndAreLoggedAndCounted() throws {
        let first = try self.next()
        self.end(first, with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        let second = SendOutcome.failure(.misconfigured(reason: "no such key"))
        _ = self.lane.withLock { $0.record(second, of: first, now: self.now, jitter: 1) }
        // A second failure of the same kind is not reported again.
        _ = self.lane.withLock { $0.record(second, of: first, now: self.now, jitter: 1) }
        self.fixture.clock.advance(by: 60)
        self.lane.withLock { $0.endLease(probe: first) }
        let third = SendOutcome.failure(.misconfigured(reason: "no such team"))
        let probe = try self.next()
        _ = self.lane.withLock { $0.record(third, of: probe, now: self.now, jitter: 1) }
        self.lane.withLock { $0.resetHealth() }
        #expect(
            self.log.lines == [
                "warning lane paused cause=overloaded lane=apns reason=later until=2027-01-15T08:01:00Z",
                "warning lane still paused, for another reason cause=misconfigured lane=apns reason=no such key "
                    + "until=2027-01-15T08:01:00Z",
                "warning lane still paused, for another reason cause=misconfigured lane=apns reason=no such team "
                    + "until=2027-01-15T08:02:00Z",
                "notice lane resumed cause=misconfigured lane=apns",
            ]
        )
        #expect(self.lane.withLock { $0.pauses } == [.overloaded: 1, .misconfigured: 1])
    }

    @Test(arguments: [(HealthEvent.prolonged(outage, delay: 59.9), "debug"), (.prolonged(outage, delay: 60), "info")])
    func aPauseProlongedByAMinuteIsLoggedAtInfo(event: HealthEvent, level: String) {
        let log = LogRecorder()
        Logger(label: "test") { _ in log }.log(event, of: Lane(Platform("apns")))
        #expect(
            log.lines == ["\(level) lane still paused cause=outage lane=apns reason=down until=1970-01-01T00:01:10Z"]
        )
    }

    private static let outage = Pause(
        .outage,
        reason: "down",
        since: .distantPast,
        until: Date(timeIntervalSince1970: 69.5)
    )

    // MARK: Its parts

    @Test func settlementsAreWrittenAfterADelayOrInAFullBatch() throws {
        let entry: PendingSettlements.Entry = (try self.next(), .expired)
        let (start, delay) = (ContinuousClock.now, Duration.milliseconds(20))
        var pending = PendingSettlements()
        #expect(pending.untilDue(after: delay, at: start) == nil)
        pending.add([entry], at: start)
        #expect(pending.isNews)
        pending.add(Array(repeating: entry, count: 248), at: start + .milliseconds(9))
        #expect(!pending.isNews)
        #expect(pending.untilDue(after: delay, at: start + .milliseconds(19)) == .milliseconds(1))
        let early = pending.beginWriting(after: delay, at: start + .milliseconds(19))
        #expect(early.isEmpty)
        var (late, many) = (pending, pending)
        let gathered = late.beginWriting(after: delay, at: start + delay)
        #expect(gathered.count == 249)
        many.add([entry], at: start)
        #expect(many.isNews)
        let all = many.beginWriting(after: delay, at: start)
        #expect(all.count == 250)
        #expect(many.untilDue(after: .zero, at: start + delay) == nil, "one commit at a time")
        #expect(many.count == 250)
        many.endWriting(butKeeping: [entry])
        #expect(many.count == 1)
    }

    @Test(arguments: [
        (0, 0, [Queue.direct, .bulk]), (4, 0, [.direct, .bulk]), (0, 4, [.direct, .bulk]), (5, 0, [.direct]),
        (2, 3, [.direct]), (0, 100, [.direct]), (9, 0, [.direct]), (10, 0, []), (10, 100, []),
    ])
    func bulkPushesAreLeasedOnlyWithAShortBacklog(direct: Int, bulk: Int, wanted: [Queue]) throws {
        let delivery = try self.next()
        var leased = LeasedPushes()
        leased.add([
            .direct: Array(repeating: delivery, count: direct), .bulk: Array(repeating: delivery, count: bulk),
        ])
        #expect(leased.wanted(of: [.direct, .bulk], batch: 10) == wanted)
        #expect(leased.takeAll().count == direct + bulk)
        #expect(leased.isEmpty)
    }
}
