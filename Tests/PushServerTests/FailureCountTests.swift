import Foundation
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct FailureCountTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Each row has the rule, a number of failures at the same moment, and the delay in seconds
    /// after these failures.
    @Test(arguments: [
        (FailureCount.Rule.pair, 1, 0.0), (.pair, 5, 0), (.pair, 6, 1), (.pair, 7, 2), (.pair, 15, 512),
        (.pair, 16, 900),
        (.pair, 1000, 900), (.stranger, 1, 60), (.stranger, 2, 120), (.stranger, 5, 900), (.stranger, 100, 900),
        (.nowhere, 5, 0), (.nowhere, 6, 1), (.nowhere, 12, 60), (.nowhere, 1000, 60), (.address, 20, 0),
        (.address, 21, 1), (.credentials, 50, 0), (.credentials, 51, 1), (.credentials, 1000, 60),
    ])
    func theDelayDoubles(rule: FailureCount.Rule, failures: Int, wait: TimeInterval) {
        var count = FailureCount(now: Self.start)
        for _ in 0..<failures { count.add(at: Self.start, rule) }
        #expect(count.remaining(at: Self.start) == wait)
        #expect(rule.wait(after: failures) == wait)
        #expect(count.remaining(at: Self.start + wait) == 0)
        if wait > 0 { #expect(count.remaining(at: Self.start + wait - 0.25) == 0.25) }
    }

    /// Each row has a number of failures, the seconds since the last failure, and the number of
    /// failures that still count.
    @Test(arguments: [(0, 0.0, 0), (3, 0, 3), (3, 1, 3), (3, 1800, 2), (3, 5399, 1), (3, 5400, 0), (3, 1e9, 0)])
    func failuresExpireOneByOne(failures: Int, seconds: TimeInterval, left: Int) {
        var count = FailureCount(now: Self.start)
        for _ in 0..<failures { count.add(at: Self.start, .pair) }
        #expect(count.count(at: Self.start + seconds, .pair) == left)
    }

    @Test func aThousandFailuresExpireWithinADay() {
        var count = FailureCount(now: Self.start)
        for _ in 0..<1000 { count.add(at: Self.start, .pair) }
        #expect(count.count(at: Self.start + 86_400, .pair) == 0)
    }

    @Test func aClockSetBackKeepsTheDelayAndTheCount() {
        var count = FailureCount(now: Self.start)
        for _ in 0..<7 { count.add(at: Self.start, .pair) }
        #expect(count.remaining(at: Self.start - 100_000) == 2)
        #expect(count.count(at: Self.start - 100_000, .pair) == 7)
    }

    @Test func aRevertedFailureDoesNotCount() {
        var count = FailureCount(now: Self.start)
        for _ in 0..<6 { count.add(at: Self.start, .pair) }
        count.takeBack(at: Self.start, .pair)
        #expect(count.count(at: Self.start, .pair) == 5)
        #expect(count.remaining(at: Self.start) == 0)
        for _ in 0..<10 { count.takeBack(at: Self.start, .pair) }
        #expect(count.count(at: Self.start, .pair) == 0)
    }
}

@Suite(.timeLimit(.minutes(5))) struct BoundedTableTests {
    @Test func theTableEvictsTheOldestAboveItsLimit() {
        var table = BoundedTable<Int, Int>(limit: 100)
        for key in 0..<1000 {
            table[key] = key
            #expect(table.count <= 100)
            #expect(table[key] == key)
        }
        #expect((951..<1000).allSatisfy { table[$0] == $0 })
        #expect((0..<900).allSatisfy { table[$0] == nil })
    }

    @Test func aRewrittenEntryStays() {
        var table = BoundedTable<Int, Int>(limit: 100)
        for key in 1..<1000 {
            table[0] = key
            table[key] = key
        }
        #expect(table[0] == 999)
    }

    @Test func readingDoesNotProlongAnEntry() {
        var table = BoundedTable<Int, Int>(limit: 100)
        table[0] = 0
        for key in 1..<200 {
            _ = table[0]
            table[key] = key
        }
        #expect(table[0] == nil)
    }

    @Test func anEntryOutlivesOneTurnButNotTwo() {
        var table = BoundedTable<Int, Int>(limit: 100)
        table[0] = 0
        table[1] = 1
        table.turn()
        #expect(table[0] == 0 && table[1] == 1)
        table[1] = 2
        table.turn()
        #expect(table[0] == nil && table[1] == 2)
        table.turn()
        #expect(table.count == 0)
    }

    @Test func aRemovedEntryIsGoneFromBothHalves() {
        var table = BoundedTable<Int, Int>(limit: 4)
        for key in 0..<3 { table[key] = key }
        for key in 0..<3 { table[key] = nil }
        #expect(table.count == 0)
    }
}
