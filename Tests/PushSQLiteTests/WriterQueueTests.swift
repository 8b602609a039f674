import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct WriterQueueTests {
    private let start = ContinuousClock.now

    private func queue(limit: Int = 10, bytes: Int = 100, batch: Int = 2) -> WriterQueue<String> {
        WriterQueue(limit: limit, byteLimit: bytes, batch: batch)
    }

    /// Empties the queue, turn by turn. Returns what the writer runs in each turn: the jobs, or
    /// receipts. At the beginning, there are so many receipts that they need `receipts` turns.
    private func drain(_ queue: inout WriterQueue<String>, receipts: Int = 0, after wait: Duration = .zero) -> [String]
    {
        var turns: [String] = []
        var receipts = receipts
        while let turn = queue.next(hasReceipts: receipts > 0, now: self.start + wait) {
            switch turn {
            case .jobs(let jobs, let late):
                turns.append(jobs.joined() + (late.isEmpty ? "" : " late \(late.joined())"))
            case .receipts:
                receipts -= 1
                turns.append("receipts")
            }
        }
        return turns
    }

    private func fill(_ queue: inout WriterQueue<String>, _ jobs: [(String, WriterLane)]) {
        for (job, lane) in jobs {
            let isTaken = queue.add(job, lane, bytes: 1, timeout: .seconds(1), now: self.start)
            #expect(isTaken)
        }
    }

    @Test func urgentWritesShareACommitAndOthersTakeTurns() {
        var queue = self.queue()
        self.fill(
            &queue,
            [
                ("x", .housekeeping), ("y", .housekeeping), ("a", .request), ("b", .delivery), ("c", .request),
                ("d", .request), ("e", .delivery),
            ]
        )
        #expect(self.drain(&queue, receipts: 2) == ["ab", "receipts", "cd", "x", "e", "receipts", "y"])
        #expect(queue.count == 0)
        #expect(queue.bytes == 0)
    }

    @Test func requestIsRefusedAfterItsTimeoutAndOthersRun() {
        var queue = self.queue()
        self.fill(&queue, [("a", .request), ("b", .delivery), ("x", .housekeeping)])
        #expect(self.drain(&queue, after: .seconds(2)) == ["b late a", "x"])
    }

    @Test func fullLaneRefusesWritesAndOthersAcceptThem() {
        var queue = self.queue(limit: 2)
        self.fill(&queue, [("a", .request), ("b", .delivery)])
        let (third, other) = (
            queue.add("c", .delivery, bytes: 0, timeout: .zero, now: self.start),
            queue.add("x", .housekeeping, bytes: 0, timeout: .zero, now: self.start)
        )
        #expect(!third)
        #expect(other)
    }

    @Test(arguments: [(99, true), (100, true), (101, false), (Int.max, false)])
    func requestsAreBoundedInBytesToo(bytes: Int, expected: Bool) {
        var queue = self.queue()
        let isTaken = queue.add("a", .request, bytes: bytes, timeout: .zero, now: self.start)
        // The queue always accepts the outcomes of pushes, because a refused outcome would be
        // lost.
        let isSettled = queue.add("b", .delivery, bytes: 50, timeout: .zero, now: self.start)
        #expect(isTaken == expected)
        #expect(isSettled)
    }
}
