import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Event streams of one device at two servers: each push arrives at both streams.
@Suite(.timeLimit(.minutes(5))) struct StreamEchoTests {
    private let pair: StreamPair
    private let elsewhere = Inbox()

    init() async throws {
        self.pair = try await StreamPair()
    }

    /// Opens a stream at `a` and then one at `b`, which gets the pushes because it is the newer
    /// one.
    private func openBoth() async throws -> [StreamSubscription] {
        let first = try await self.pair.open(at: self.pair.a)
        let second = try await self.pair.b.open(self.pair.device, of: self.pair.alice, into: self.elsewhere)
        return [first, second]
    }

    private var arrived: [[Int64]] {
        [self.pair.inbox[self.pair.device].sorted(), self.elsewhere[self.pair.device].sorted()]
    }

    private func shared(_ server: StreamServer) async throws -> Int64 {
        let rows = try await server.store.read("select count(*) from stream where is_shared")
        return try rows[0].integer(0)
    }

    @Test func pushesSentByOneServerAreRepeatedByTheOtherOnce() async throws {
        let streams = try await self.openBoth()
        try await self.pair.post(1, 2, at: self.pair.a)
        #expect(try await self.pair.a.deliver() == [])
        #expect(try await self.pair.b.deliver() == [1, 2])
        #expect(self.arrived == [[], [1, 2]])
        for _ in 0..<2 {
            try await self.pair.a.store.echoStreams()
            try await self.pair.b.store.echoStreams()
        }
        #expect(self.arrived == [[1, 2], [1, 2]])
        withExtendedLifetime(streams) {}
    }

    @Test func pushesSentBeforeASecondStreamOpensAreNotRepeated() async throws {
        let first = try await self.pair.open(at: self.pair.a)
        try await self.pair.post(1, at: self.pair.a)
        #expect(try await self.pair.a.deliver() == [1])
        // The push was settled a minute before the stream began. A minute exceeds the allowed
        // difference of clocks.
        try await self.pair.a.run("update push_end set settled_at = (select min(since) from stream) - 60000")
        let second = try await self.pair.b.open(self.pair.device, of: self.pair.alice, into: self.elsewhere)
        try await self.pair.a.store.echoStreams()
        try await self.pair.b.store.echoStreams()
        #expect(self.arrived == [[1], []])
        withExtendedLifetime([first, second]) {}
    }

    /// The test itself repeats no push, so the running servers must bring all pushes to both
    /// streams.
    @Test func bothStreamsGetAllPushesWhileServersRun() async throws {
        let (a, b) = (self.pair.a, self.pair.b)
        try await a.whileRunning {
            try await b.whileRunning {
                let streams = try await self.openBoth()
                for number in Int64(1)...20 { try await self.pair.post(number, at: number % 2 == 0 ? a : b) }
                try await eventually { self.arrived.allSatisfy { $0.count >= 20 } }
                withExtendedLifetime(streams) {}
            }
        }
        #expect(self.arrived == [Array(1...20), Array(1...20)])
    }

    @Test func nothingIsRepeatedAfterTheOtherStreamHasEnded() async throws {
        let first = try await self.pair.open(at: self.pair.a)
        var second: StreamSubscription? = try await self.pair.b.open(
            self.pair.device,
            of: self.pair.alice,
            into: self.elsewhere
        )
        #expect(try await self.shared(self.pair.a) == 2)
        // The end of the second stream is not yet written to the database.
        try await self.pair.a.store.compareStreams()
        #expect(try await self.shared(self.pair.a) == 2)
        withExtendedLifetime(second) {}
        second = nil
        try await self.pair.b.store.writeStreamEnds()
        try await self.pair.a.store.compareStreams()
        #expect(try await self.shared(self.pair.a) == 0)
        try await self.pair.post(1, at: self.pair.b)
        #expect(try await self.pair.a.deliver() == [1])
        try await self.pair.a.store.echoStreams()
        #expect(self.arrived == [[1], []])
        withExtendedLifetime(first) {}
    }

    /// The streams of a fenced (excluded) server no longer count, so no push is repeated for them.
    @Test func nothingIsRepeatedForADeadServer() async throws {
        let streams = try await self.openBoth()
        try self.pair.b.store.membership.abandon()
        try await self.pair.a.fence(self.pair.b)
        try await self.pair.a.store.removeStreamsOfFencedServers()
        try await self.pair.a.store.compareStreams()
        #expect(try await self.shared(self.pair.a) == 0)
        withExtendedLifetime(streams) {}
    }
}

extension PostgreSQLStore {
    /// Searches once for events to repeat, and sends them.
    fileprivate func echoStreams() async throws {
        for echo in try await self.findEchoes() { await self.send(echo) }
    }
}
