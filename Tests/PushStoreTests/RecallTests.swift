import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct RecallTests {
    private let fixture: StoreFixture
    private let alice: User
    private let id: NotificationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.id = try #require(NotificationID(rawValue: 1))
        for number in 0..<10 { try await self.fixture.addDevice(of: self.alice, handle: "h-\(number)") }
    }

    private func recall() async throws -> Bool {
        try await self.fixture.store.recall(self.id, by: .sender(self.alice.id), now: self.fixture.now)
    }

    @Test func nothingOfARecalledBroadcastIsSentAnyMore() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice", page: 4)
        #expect(try await self.recall())
        // After the recall, the fan-out adds no more recipients. Queued pushes are not sent, even
        // if they are not cancelled yet.
        #expect(try await self.fixture.store.expandFanout(page: 4, now: self.fixture.now) == nil)
        #expect(try await self.fixture.lease() == [])
        let tally = try #require(try await self.fixture.reader.tallies()["apns"])
        #expect(tally.enqueued == 4)
        #expect(tally.cancelled == 4)
    }

    @Test func pushesAreCancelledPageByPage() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        #expect(try await self.recall())
        var (last, pages): (Int64?, [Int]) = (0, [])
        while let device = last {
            last = try await self.fixture.store.cancelRecalled(self.id, after: device, page: 4, now: self.fixture.now)
            pages.append(try #require(try await self.fixture.reader.tallies()["apns"]).cancelled)
        }
        #expect(pages == [4, 8, 10])
    }

    @Test func recalledPushInFlightIsNotRetried() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let leased = try await self.fixture.lease()
        #expect(try await self.recall())
        _ = try await self.fixture.store.cancelRecalled(self.id, after: 0, now: self.fixture.now)
        for (index, delivery) in leased.enumerated() {
            let retry = Settlement.retried(at: self.fixture.now, reason: "x")
            try await self.fixture.settle(delivery, as: index == 0 ? .accepted(providerID: nil) : retry)
        }
        #expect(try await self.fixture.lease() == [])
        let tally = try #require(try await self.fixture.reader.tallies()["apns"])
        #expect(tally.accepted == 1)
        #expect(tally.cancelled == 9)
        #expect(tally.pending == 0)
    }

    @Test func onlyTheSenderRecallsANotificationAndOnce() async throws {
        let mallory = try await self.fixture.addUser("mallory")
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        #expect(try await !self.fixture.store.recall(self.id, by: .sender(mallory.id), now: self.fixture.now))
        #expect(try await self.recall())
        #expect(try await !self.recall())
        #expect(try await !self.fixture.store.recall(self.id, by: .administrator, now: self.fixture.now))
    }

    @Test func recalledPayloadIsErasedFromTheDiskAtOnce() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        #expect(
            try await self.fixture.reader.notification(
                self.id,
                for: self.alice.id,
                alsoAsSender: true,
                now: .distantPast
            )
                != nil
        )
        #expect(try await self.recall())
        #expect(
            try await self.fixture.reader.notification(
                self.id,
                for: self.alice.id,
                alsoAsSender: true,
                now: .distantPast
            )
                == nil
        )
        await self.fixture.store.close()
        #expect(try self.fixture.remains().range(of: Data("sealed 1".utf8)) == nil)
    }
}
