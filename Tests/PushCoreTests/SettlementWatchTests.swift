import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SettlementWatchTests {
    private let watch = SettlementWatch()

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    @Test func watcherWakesForItsOwnNotificationOnly() async throws {
        let (own, other) = (try self.id(1), try self.id(2))
        await self.watch.watching(own, for: 1) { bell in
            self.watch.settled([other])
            let start = ContinuousClock.now
            await bell?.wait(atMost: .milliseconds(20))
            #expect(start.duration(to: .now) >= .milliseconds(20))
            self.watch.settled([other, own])
            // The wait also ends if the settlement was reported before the wait began.
            await bell?.wait(atMost: .seconds(3600))
        }
        // No caller waits any more, so this report must have no effect.
        self.watch.settled([own])
    }

    @Test func cancellationWakesTheWatcher() async throws {
        let id = try self.id(1)
        await withTaskGroup { group in
            group.addTask { await self.watch.watching(id, for: 1) { await $0?.wait(atMost: .seconds(3600)) } }
            group.cancelAll()
        }
    }

    @Test(arguments: [(1000, 1000), (100, 1)])
    func aWaitBeyondTheLimitOfAllOrOfOneUserGetsNoSignal(limit: Int64, users: Int64) async throws {
        try await self.nest(limit, users: users)
    }

    private func nest(_ depth: Int64, users: Int64) async throws {
        let id = try self.id(depth + 1)
        let (watch, isLast) = (self.watch, depth == 0)
        try await watch.watching(id, for: depth % users) { bell in
            #expect((bell == nil) == isLast)
            if !isLast { try await self.nest(depth - 1, users: users) }
        }
    }
}
