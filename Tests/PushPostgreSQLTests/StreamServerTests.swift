import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// A device with an event stream at one of two servers gets the pushes that either server stored.
@Suite(.timeLimit(.minutes(5))) struct StreamServerTests {
    private let pair: StreamPair

    init() async throws {
        self.pair = try await StreamPair()
    }

    private var arrived: [Int64] { self.pair.inbox[self.pair.device].sorted() }

    /// Returns, for each server, the time at which it next has work.
    private func nextDue() async throws -> [Date?] {
        [try await self.pair.a.fixture.nextDue("stream"), try await self.pair.b.fixture.nextDue("stream")]
    }

    @Test func aPushIsSentByTheServerThatHasTheStream() async throws {
        let stream = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.b)
        // Only the server with the stream has work; if the other server had work, too, its loop
        // would never sleep.
        #expect(try await self.nextDue() == [self.pair.a.fixture.now, nil])
        #expect(try await self.pair.b.deliver() == [])
        #expect(try await self.pair.a.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime(stream) {}
    }

    @Test func noServerHasWorkWithoutAStream() async throws {
        try await self.pair.post(1, at: self.pair.b)
        #expect(try await self.nextDue() == [nil, nil])
        let stream = try await self.pair.open(at: self.pair.a)
        #expect(try await self.pair.a.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime(stream) {}
    }

    @Test func aStreamThatMovesBeforeTheLeaseTakesItsPushesAlong() async throws {
        let first = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.a)
        // The first server may not have noticed that its client has disconnected, so the newer
        // stream gets the push.
        let second = try await self.pair.open(at: self.pair.b)
        #expect(try await self.pair.a.deliver() == [])
        #expect(try await self.pair.b.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime((first, second)) {}
    }

    @Test func aStreamThatMovesAfterTheLeaseTakesItsPushesAlong() async throws {
        var stream: StreamSubscription? = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.a)
        let leased = try #require(try await self.pair.a.fixture.lease("stream").first)
        withExtendedLifetime(stream) {}
        stream = nil
        let second = try await self.pair.open(at: self.pair.b)
        try await self.pair.a.send(leased)
        #expect(try await self.nextDue() == [nil, self.pair.b.fixture.now])
        #expect(try await self.pair.b.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime(second) {}
    }

    @Test func aPushThatFindsNoStreamAnyMoreIsParked() async throws {
        var stream: StreamSubscription? = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.b)
        let leased = try #require(try await self.pair.a.fixture.lease("stream").first)
        withExtendedLifetime(stream) {}
        stream = nil
        try await self.pair.a.send(leased)
        #expect(try await self.nextDue() == [nil, nil])
        stream = try await self.pair.open(at: self.pair.a)
        #expect(try await self.pair.a.deliver() == [1])
        #expect(self.arrived == [1])
    }

    @Test func pushesOfAStreamThatEndsAreParked() async throws {
        var stream: StreamSubscription? = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.b)
        withExtendedLifetime(stream) {}
        stream = nil
        try await self.pair.a.store.writeStreamEnds()
        #expect(try await self.nextDue() == [nil, nil])
        try await self.pair.post(2, at: self.pair.a)
        #expect(try await self.nextDue() == [nil, nil])
        let second = try await self.pair.open(at: self.pair.b)
        #expect(try await self.pair.b.deliver() == [1, 2])
        #expect(self.arrived == [1, 2])
        withExtendedLifetime(second) {}
    }

    @Test func endingAStreamKeepsTheDevicesOtherStream() async throws {
        var first: StreamSubscription? = try await self.pair.open(at: self.pair.a)
        let second = try await self.pair.open(at: self.pair.a)
        withExtendedLifetime(first) {}
        first = nil
        try await self.pair.a.store.writeStreamEnds()
        try await self.pair.post(1, at: self.pair.b)
        #expect(try await self.pair.a.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime(second) {}
    }

    @Test func theOlderStreamTakesOverWhenTheNewestEnds() async throws {
        let first = try await self.pair.open(at: self.pair.a)
        var second: StreamSubscription? = try await self.pair.open(at: self.pair.b)
        withExtendedLifetime(second) {}
        second = nil
        try await self.pair.b.store.writeStreamEnds()
        try await self.pair.post(1, at: self.pair.b)
        #expect(try await self.pair.a.deliver() == [1])
        #expect(self.arrived == [1])
        withExtendedLifetime(first) {}
    }

    @Test func pushesOfADeadServerArriveWithTheDevice() async throws {
        let stream = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.a)
        #expect(try await self.pair.a.fixture.lease("stream").count == 1)
        try await self.pair.post(2, at: self.pair.a)
        try self.pair.a.store.membership.abandon()
        try await self.pair.b.fence(self.pair.a)
        try await self.pair.post(3, at: self.pair.b)
        try await self.pair.b.store.removeStreamsOfFencedServers()
        #expect(try await self.nextDue() == [nil, nil])
        let second = try await self.pair.open(at: self.pair.b)
        #expect(try await self.pair.b.deliver() == [1, 2, 3])
        #expect(self.arrived == [1, 2, 3])
        withExtendedLifetime((stream, second)) {}
    }

    /// The device connects again soon after its server died, before other servers have excluded
    /// (fenced) the dead server.
    @Test func aDeviceReturningBeforeItsServerIsFencedGetsAllPushes() async throws {
        let stream = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, 2, at: self.pair.b)
        try self.pair.a.store.membership.abandon()
        let second = try await self.pair.open(at: self.pair.b)
        #expect(try await self.pair.b.deliver() == [1, 2])
        #expect(self.arrived == [1, 2])
        withExtendedLifetime((stream, second)) {}
    }

    @Test func aFencedServerRegainsItsStreamsUnderItsNextNumber() async throws {
        let stream = try await self.pair.open(at: self.pair.a)
        let number = try self.pair.a.store.membership.number
        try await self.pair.b.fence(self.pair.a)
        try await self.pair.post(1, at: self.pair.b)
        try await eventually { try self.pair.a.store.membership.number != number }
        try await self.pair.a.store.compareStreams()
        try await self.pair.post(2, at: self.pair.b)
        #expect(try await self.pair.a.deliver() == [1, 2])
        #expect(self.arrived == [1, 2])
        withExtendedLifetime(stream) {}
    }

    @Test func rowsOfDevicesAndStreamsThatAreGoneAreDeleted() async throws {
        let stream = try await self.pair.open(at: self.pair.a)
        #expect(try await self.pair.a.fixture.store.unregister(self.pair.device, ofUser: self.pair.alice.id))
        let left = try await self.pair.a.addDevice(of: self.pair.alice)
        _ = try await self.pair.a.store.streamOpened(for: [left], ofUser: self.pair.alice.id, after: nil, now: .now)
        try await self.pair.a.store.compareStreams()
        #expect(try await self.pair.a.store.database.query("select device from stream").count == 0)
        withExtendedLifetime(stream) {}
    }
}
