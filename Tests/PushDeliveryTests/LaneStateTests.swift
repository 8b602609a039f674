import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushDelivery

@Suite(.timeLimit(.minutes(5))) struct LaneStateTests {
    private let fixture: StoreFixture
    private let state: LaneState
    private var now: Date { self.fixture.now }

    /// A lane with four leased pushes and room for two at a time.
    init() async throws {
        self.fixture = try StoreFixture()
        let lane = LaneSettings(Lane(Platform("apns")), sender: NoSender(), concurrency: 2)
        self.state = LaneState(lane, inFlight: 3)
        let alice = try await self.fixture.addUser("alice")
        for number in 0..<4 { try await self.fixture.addDevice(of: alice, handle: "a\(number)") }
        try await self.fixture.post(1, from: alice, to: "username:alice")
        self.state.endClaim(try await self.fixture.claim(), [])
    }

    private struct NoSender: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            throw .offline(reason: "nothing is sent here")
        }
    }

    private func next() throws -> LeasedDelivery {
        guard case .send(let delivery) = self.state.next(now: self.now) else { throw Stopped() }
        return delivery
    }

    private struct Stopped: Error {}

    private func end(_ delivery: LeasedDelivery, with failure: SendFailure) {
        let outcome = SendOutcome.failure(failure)
        _ = self.state.note(outcome, of: delivery, now: self.now, jitter: 1)
        _ = self.state.end(delivery, as: delivery.state.settlement(of: outcome, now: self.now, jitter: 1))
        self.state.endWorker()
    }

    @Test func noMoreAreStartedThanMayBeAtWork() throws {
        #expect(self.state.beginWorkers(now: self.now) == 2)
        #expect(self.state.beginWorkers(now: self.now) == 0)
    }

    @Test func whatIsNotWrittenDownCountsAsUnderWay() throws {
        for _ in 0..<3 { self.end(try self.next(), with: .rejected(reason: "no")) }
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.state.beginSettling(after: .zero).count == 3)
        self.state.endSettling()
        _ = try self.next()
    }

    @Test func whatCouldNotBeWrittenDownIsTriedAgain() throws {
        self.end(try self.next(), with: .rejected(reason: "no"))
        let ended = self.state.beginSettling(after: .zero)
        self.state.endSettling(butKeeping: ended)
        #expect(self.state.beginSettling(after: .zero).map(\.0) == ended.map(\.0))
    }

    @Test func whileAProviderRestsNothingIsStartedAndWhatIsLeasedIsGivenBack() throws {
        let first = try self.next()
        self.end(first, with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        #expect(self.state.beginWorkers(now: self.now) == 0)
        #expect(self.state.beginRest(now: self.now) == self.now + 60)
        let ended = self.state.beginSettling(after: .zero)
        #expect(ended.map(\.1) == [.retried(at: self.now + 60, reason: "later"), .released, .released, .released])
        self.fixture.clock.advance(by: 60)
        #expect(self.state.beginRest(now: self.now) == nil)
        #expect(self.state.beginClaim(of: [.direct, .bulk], batch: 100, now: self.now) == (1, [.direct, .bulk]))
    }

    /// Whatever becomes of the one that goes first, it leaves room for another: nothing else ever would.
    @Test(arguments: [Settlement.expired, .released, .retried(at: .distantFuture, reason: "withdrawn")])
    func aProbeThatEndsUnansweredIsFollowedByAnother(settlement: Settlement) throws {
        self.end(try self.next(), with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        self.fixture.clock.advance(by: 60)
        let probe = try self.next()
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.state.beginClaim(of: [.direct], batch: 100, now: self.now) == (0, []))
        _ = self.state.end(probe, as: settlement)
        _ = try self.next()
        #expect(throws: Stopped.self) { try self.next() }
        #expect(self.state.trouble?.reason == "later")
    }

    @Test func aProbeThatIsAnsweredLetsTheOthersGo() throws {
        self.end(try self.next(), with: .overloaded(reason: "later", retryAfter: .seconds(60)))
        self.fixture.clock.advance(by: 60)
        self.end(try self.next(), with: .rejected(reason: "no"))
        _ = self.state.beginSettling(after: .zero)
        self.state.endSettling()
        _ = try self.next()
        _ = try self.next()
        #expect(self.state.trouble == nil)
    }
}
