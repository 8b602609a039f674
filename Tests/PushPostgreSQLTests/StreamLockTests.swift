import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// A stream opens or ends at one server while another server posts to its device. The later
/// transaction must wait for the earlier one.
@Suite(.timeLimit(.minutes(5))) struct StreamLockTests {
    private let pair: StreamPair

    init() async throws {
        self.pair = try await StreamPair()
    }

    /// The post looks for a stream of the device and finds none. At that moment, a stream opens.
    @Test func anOpeningStreamWaitsForAPostThatFoundNoStream() async throws {
        let opened = Opened()
        try await self.post(1, at: self.pair.b) { opened.stream = try await self.pair.open(at: self.pair.a) }
        #expect(try await self.pair.a.deliver() == [1])
        withExtendedLifetime(opened) {}
    }

    /// The post finds a stream. At that moment, another server deletes the row of this stream.
    @Test func aStreamThatEndsWaitsForAPostThatHasFoundIt() async throws {
        let opened = Opened()
        opened.stream = try await self.pair.open(at: self.pair.a)
        opened.stream = nil
        try await self.post(1, at: self.pair.b) { try await self.pair.a.store.writeStreamEnds() }
        #expect(try await self.pair.a.store.database.query("select 1 from push where due_at is null").count == 1)
    }

    /// Posts, and begins `other` when the post has looked for a stream and has only the commit
    /// left. The post commits when `other` has ended or waits for this commit.
    private func post(
        _ number: Int64,
        at server: StreamServer,
        while other: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (gate, watch) = (try BlockingConnection(server.store.address), try BlockingConnection(server.store.address))
        func waiting() throws -> Int64 {
            try watch.query(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            )[0].integer(0)
        }
        // A post writes the counts of pushes last, so this lock stops it just before its commit.
        try gate.execute("begin; lock table tally in exclusive mode")
        let hasEnded = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.pair.post(number, at: server) }
            try await eventually { try waiting() == 1 }
            group.addTask {
                try await other()
                hasEnded.value.store(true, ordering: .relaxed)
            }
            try await eventually { try hasEnded.value.load(ordering: .relaxed) || waiting() == 2 }
            try gate.execute("commit")
            try await group.waitForAll()
        }
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    private final class Opened: Sendable {
        private let value = Mutex<StreamSubscription?>(nil)

        var stream: StreamSubscription? {
            get { self.value.withLock { $0 } }
            set { self.value.withLock { $0 = newValue } }
        }
    }

    @Test func aPushPostedWhileAStreamOpensIsDelivered() async throws {
        for number in Int64(1)...60 {
            async let post: Void = self.pair.post(number, at: self.pair.b)
            async let opening = self.pair.open(at: self.pair.a)
            try await post
            var stream: StreamSubscription? = try await opening
            #expect(try await self.pair.a.deliver() == [number])
            withExtendedLifetime(stream) {}
            stream = nil
            try await self.pair.a.store.writeStreamEnds()
        }
        #expect(self.pair.inbox[self.pair.device].sorted() == Array(1...60))
    }

    @Test func aPushPostedWhileAStreamEndsIsParked() async throws {
        for number in Int64(1)...60 {
            var stream: StreamSubscription? = try await self.pair.open(at: self.pair.a)
            withExtendedLifetime(stream) {}
            stream = nil
            async let post: Void = self.pair.post(number, at: self.pair.b)
            async let end: Void = self.pair.a.store.writeStreamEnds()
            _ = try await (post, end)
            for server in [self.pair.a, self.pair.b] { #expect(try await server.fixture.nextDue("stream") == nil) }
        }
        let stream = try await self.pair.open(at: self.pair.b)
        #expect(try await self.pair.b.deliver() == Array(1...60))
        withExtendedLifetime(stream) {}
    }
}
