import Testing

@testable import PushServer

/// The order in which the queue starts the jobs of different owners.
@Suite(.timeLimit(.minutes(5))) struct FairQueueTests {
    @Test func anIdleWorkerStartsWithTheNextJob() {
        var queue = FairQueue<Int>(workers: 2)
        #expect([1, 2, 3].map { queue.add($0, of: 7) } == [.starts(worker: 0), .starts(worker: 1), .waits])
        #expect(queue.next(for: 1) == 3)
        #expect(queue.next(for: 1) == nil)
        #expect(queue.add(4, of: 7) == .starts(worker: 1))
        #expect(queue.next(for: 0) == nil)
        #expect(queue.add(5, of: 7) == .starts(worker: 0))
        #expect(queue.add(6, of: 7) == .waits)
    }

    @Test func usersTakeTurnsHoweverManyJobsOneHas() {
        var queue = FairQueue<String>(workers: 1)
        _ = queue.add("first", of: 0)
        for (user, jobs) in [(1, ["a1", "a2", "a3"]), (2, ["b1"]), (3, ["c1", "c2"])] as [(Int64, [String])] {
            for job in jobs { #expect(queue.add(job, of: user) == .waits) }
        }
        #expect((0..<6).compactMap { _ in queue.next(for: 0) } == ["a1", "b1", "c1", "a2", "c2", "a3"])
        #expect(queue.next(for: 0) == nil)
    }

    @Test func aUsersLimitDoesNotAffectOtherUsers() {
        var queue = FairQueue<Int>(workers: 1)
        _ = queue.add(0, of: 1)
        for number in 0..<FairQueue<Int>.limitPerUser { #expect(queue.add(number, of: 1) == .waits) }
        #expect(queue.add(0, of: 1) == .full)
        #expect(queue.add(0, of: 2) == .waits)
        _ = queue.next(for: 0)
        #expect(queue.add(0, of: 1) == .waits)
    }

    @Test func theQueueHasAnOverallLimit() {
        var queue = FairQueue<Int>(workers: 1)
        _ = queue.add(0, of: 0)
        for user in 0..<Int64(FairQueue<Int>.limit) { #expect(queue.add(0, of: user) == .waits) }
        #expect(queue.add(0, of: -1) == .full)
        _ = queue.next(for: 0)
        #expect(queue.add(0, of: -1) == .waits)
    }
}
