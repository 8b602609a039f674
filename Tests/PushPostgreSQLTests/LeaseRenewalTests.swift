import Foundation
import PushCore
import PushDelivery
import PushStore
import PushTesting
import Synchronization
import Testing

/// A server that does not renew its lease in time, while another server shares its database.
@Suite(.timeLimit(.minutes(5))) struct LeaseRenewalTests {
    private static let lane = Lane(Platform("apns"))

    private let a: StreamServer
    private let b: StreamServer
    private let alice: User

    init() async throws {
        self.a = try StreamServer()
        self.b = try StreamServer(beside: self.a, fencesServers: true)
        self.alice = try await self.a.fixture.addUser("alice", role: .publisher)
        for number in 0..<10 {
            try await self.a.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
    }

    private func lane(_ sender: HeldSender, concurrency: Int) -> LaneSettings {
        LaneSettings(Self.lane, sender: sender, concurrency: concurrency)
    }

    @Test func aServerThatCannotRenewStopsAndAnotherTakesOver() async throws {
        let (mine, others) = (HeldSender(), HeldSender())
        others.release()
        try await self.a.whileRunning(self.lane(mine, concurrency: 1)) {
            try await self.a.fixture.post(1, from: self.alice, to: "news")
            self.a.wakeUp()
            try await eventually { mine.begun.count == 1 }
            try await self.b.holdRenewals(of: self.a)
            try await eventually { self.a.fixture.store.cluster?.lease.term == nil }
            // The first server finishes the push that it is sending. It must not begin to send the
            // nine others that it has leased.
            mine.release()
            try await self.b.whileRunning(self.lane(others, concurrency: 3)) {
                try await eventually { Set(mine.begun + others.begun).count == 10 }
                try await self.b.fixture.post(2, from: self.alice, to: "news")
                self.a.wakeUp()
                self.b.wakeUp()
                try await eventually { Set(mine.begun + others.begun).count == 20 }
                #expect(mine.begun.count == 1)
                try await eventually { try await self.b.fixture.reader.tallies()["apns"]?.accepted == 20 }
            }
            try await self.b.letRenew()
            try await eventually { self.a.fixture.store.cluster?.lease.term != nil }
            try await self.b.fixture.post(3, from: self.alice, to: "news")
            try await eventually { mine.begun.count == 11 }
            try await eventually { try await self.b.fixture.reader.tallies()["apns"]?.accepted == 30 }
        }
    }

    /// A sender that accepts each push, but the first one only after the test calls `release`.
    private final class HeldSender: PushSender {
        private let pushes = Mutex([String]())
        private let gate = Signal()
        private let isOpen = Mutex(false)

        /// The attempt ids of the pushes that this sender has got so far.
        var begun: [String] { self.pushes.withLock { $0 } }

        func release() {
            self.isOpen.withLock { $0 = true }
            self.gate.set()
        }

        func send(_ push: Push) async throws(SendFailure) -> Acceptance {
            self.pushes.withLock { $0.append(push.attemptID.uuidString) }
            // A test that fails before it releases the push must end, too.
            while !self.isOpen.withLock({ $0 }), !Task.isCancelled { await self.gate.wait(atMost: .milliseconds(100)) }
            return Acceptance()
        }
    }
}
