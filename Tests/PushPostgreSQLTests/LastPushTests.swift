import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The precision with which the store keeps the time of a device's last push.
@Suite(.timeLimit(.minutes(5))) struct LastPushTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.alice = try await self.fixture.addUser("alice", role: .publisher)
        try await self.fixture.addDevice(of: self.alice, handle: "d", tags: ["news"])
    }

    /// Posts a notification and settles its push as accepted. Returns the stored time of the
    /// device's last push.
    private func pushedAt(_ number: Int64, interval: Duration? = nil) async throws -> Date? {
        try await self.fixture.post(number, from: self.alice, to: "news")
        let leased = try #require(try await self.fixture.lease(interval: interval).first)
        try await self.fixture.settle(leased, as: .accepted(providerID: nil))
        return try await self.fixture.reader.devices(ofUser: self.alice.id).first?.pushedAt
    }

    @Test func aPushWithinAMinuteKeepsTheStoredTime() async throws {
        let first = self.fixture.now
        #expect(try await self.pushedAt(1) == first)
        self.fixture.clock.advance(by: 59)
        #expect(try await self.pushedAt(2) == first)
        self.fixture.clock.advance(by: 1)
        #expect(try await self.pushedAt(3) == self.fixture.now)
    }

    /// If the stored time could be a minute too early, two pushes could follow each other faster
    /// than the interval allows.
    @Test func theTimeIsExactIfPushesHaveAMinimumInterval() async throws {
        #expect(try await self.pushedAt(1, interval: .seconds(5)) == self.fixture.now)
        self.fixture.clock.advance(by: 6)
        #expect(try await self.pushedAt(2, interval: .seconds(5)) == self.fixture.now)
        try await self.fixture.post(3, from: self.alice, to: "news")
        self.fixture.clock.advance(by: 4)
        #expect(try await self.fixture.lease(interval: .seconds(5)).isEmpty)
    }
}
