import Foundation
import PushAPI
import Synchronization
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct HashingQueueTests {
    /// A queue whose only worker is busy.
    private var queue = HashingQueue<Int>(workers: 1)

    init() {
        self.add(-1, .server)
    }

    /// Adds a job. Returns the outcome as one word.
    @discardableResult
    private mutating func add(_ job: Int, _ requester: HashingRequester) -> String {
        switch self.queue.add(job, requester) {
        case .starts: "starts"
        case .waits(nil): "waits"
        case .waits(let loser?): "instead of \(loser)"
        case .full: "full"
        }
    }

    private mutating func rest() -> [Int] {
        var jobs: [Int] = []
        while let job = self.queue.next() { jobs.append(job) }
        return jobs
    }

    @Test func asManyJobsRunAsThereAreWorkers() {
        var queue = HashingQueue<Int>(workers: 2)
        let admissions = (0..<4).map { queue.add($0, .server) }
        #expect(admissions.count { if case .starts = $0 { true } else { false } } == 2)
        let next = (0..<4).map { _ in queue.next() }
        #expect(next == [2, 3, nil, nil])
        guard case .starts = queue.add(9, .server) else {
            Issue.record("the workers have ended")
            return
        }
    }

    @Test mutating func lowRanksGoFirstWithKnownFIFOAndStrangersLIFO() {
        for (job, rank) in [5, 1, 0, 1, 9, 0].enumerated() {
            self.add(job, .init(account: UInt64(job), address: UInt64(job), rank: rank))
        }
        #expect(self.rest() == [2, 5, 3, 1, 0, 4])
    }

    @Test mutating func placesPerUserAndAddressAreLimited() {
        for job in 0..<8 {
            #expect(self.add(job, .init(account: 1, address: UInt64(job), rank: 2)) == "waits")
        }
        #expect(self.add(8, .init(account: 1, address: 8, rank: 3)) == "full")
        for job in 10..<42 {
            #expect(self.add(job, .init(account: UInt64(job), address: 50, rank: 2)) == "waits")
        }
        #expect(self.add(42, .init(account: 42, address: 50, rank: 3)) == "full")
        #expect(self.add(43, .init(account: 43, address: nil, rank: 2)) == "waits")
    }

    @Test mutating func aLowerRankReplacesTheHighestWaitingRank() {
        for job in 0..<8 { self.add(job, .init(account: 1, address: UInt64(job), rank: 1 + job % 4)) }
        #expect(self.add(8, .init(account: 1, address: 8, rank: 1)) == "instead of 3")
        #expect(self.add(9, .init(account: 1, address: 9, rank: 5)) == "full")
        #expect(self.add(10, .init(account: 1, address: 10, rank: 0)) == "instead of 7")
    }

    @Test mutating func aKnownCallerDoesNotCountForItsAddress() {
        for job in 0..<200 {
            #expect(self.add(job, .init(account: UInt64(job), address: 1, rank: 0)) == "waits")
        }
    }

    @Test mutating func knownCallersDoNotReplaceEachOther() {
        for job in 0..<8 { self.add(job, .init(account: 1, address: UInt64(job), rank: 0)) }
        #expect(self.add(8, .init(account: 1, address: 8, rank: 0)) == "full")
    }

    @Test mutating func aFloodDoesNotKeepOutKnownCallers() {
        for job in 0..<2000 {
            self.add(job, .init(account: UInt64(job), address: UInt64(job), rank: 1))
        }
        #expect(self.queue.count == 256)
        #expect(self.add(-2, .init(account: 7, address: 7, rank: 0)) == "instead of 1744")
        #expect(self.queue.count == 256)
        #expect(self.rest().prefix(2) == [-2, 1999], "the latest of the strangers")
    }
}

@Suite(.timeLimit(.minutes(5))) struct HashingPoolTests {
    @Test func aJobWithoutAPlaceIsRefusedAndOthersAreDone() async throws {
        let pool = HashingPool(workers: 1)
        let gate = NSCondition()
        let isOpen = Shared(false)
        let results = await withTaskGroup(of: Bool?.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let requester = HashingRequester(account: UInt64(number), address: nil, rank: 1)
                    do {
                        return try await pool.run(for: requester) {
                            gate.lock()
                            while !isOpen.value { gate.wait() }
                            gate.unlock()
                            return true
                        }
                    } catch {
                        // The jobs wait until the gate opens. Only a refusal opens it, so the
                        // queue must refuse at least one caller.
                        gate.withLock {
                            isOpen.value = true
                            gate.broadcast()
                        }
                        return (error as? Problem)?.code == .busy ? nil : false
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(!results.contains(false))
        #expect(results.contains(nil))
        #expect(results.count { $0 == true } >= 257)
    }

    private final class Shared: Sendable {
        private let kept: Mutex<Bool>

        init(_ value: Bool) { self.kept = Mutex(value) }

        var value: Bool {
            get { self.kept.withLock { $0 } }
            set { self.kept.withLock { $0 = newValue } }
        }
    }
}

extension HashingRequester {
    /// A requester whose jobs precede all others, and count for no account and no address.
    fileprivate static let server = HashingRequester(account: nil, address: nil, rank: 0)
}
