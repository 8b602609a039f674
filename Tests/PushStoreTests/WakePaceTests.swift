import Foundation
import PushCore
import PushStore
import Testing

/// Tests at what times the waiting pushes of a user become due.
struct WakePaceTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// Returns the new due times by notification, in milliseconds from now.
    private func dueTimes(of waiting: [WakePace.WaitingPush], queued: [Int64: Int64]) -> [Int64: Int64] {
        let due = WakePace.dueTimes(of: waiting, queued: queued, now: Self.now)
        return Dictionary(uniqueKeysWithValues: due.map { ($0.key.notification, $0.dueAt - Self.now.milliseconds) })
    }

    /// `due` is the milliseconds until the push becomes due.
    private func push(_ number: Int64, user: Int64 = 1, due: Int64 = 1_000_000, sequence: Int64 = 0)
        -> WakePace.WaitingPush
    {
        (DuePush(notification: number, device: user), user, Self.now.milliseconds + due, sequence)
    }

    /// `due` has the numbers of pushes that become due 0, 100, 200… milliseconds from now.
    @Test(
        arguments: [
            (1, 1, [1]), (100, 100, [100]), (101, 101, [100, 1]), (250, 250, [100, 100, 50]),
            // The user's other queued pushes come first.
            (80, 20, [20]), (100, 1, [1]), (101, 1, [0, 1]), (350, 200, [0, 50, 100, 50]),
            // Some queued pushes may have ended after the waiting pushes were read.
            (2, 3, [3]),
        ] as [(Int64, Int64, [Int])]
    )
    func aHundredPushesBecomeDueAtATime(queued: Int64, waiting: Int64, due: [Int]) {
        let times = self.dueTimes(of: (0..<waiting).map { self.push($0, sequence: $0) }, queued: [1: queued])
        let expected = due.enumerated().flatMap { Array(repeating: Int64($0.offset) * 100, count: $0.element) }
        #expect(times.sorted { $0.key < $1.key }.map(\.value) == expected)
    }

    @Test func atMostAPageChangesAtATime() {
        let times = self.dueTimes(of: (1...1500).map { self.push($0, sequence: -$0) }, queued: [1: 1500])
        #expect(Set(times.keys) == Set(501...1500))
    }

    @Test func theOrderIsByDueTimeAndThenBySequence() {
        let waiting = [
            self.push(1, due: 30_000, sequence: 1), self.push(2, due: 20_000, sequence: 3),
            self.push(3, due: 20_000, sequence: 2),
        ]
        // The first hundred due pushes have one more place, and then two.
        #expect(self.dueTimes(of: waiting, queued: [1: 102]) == [3: 0, 2: 100, 1: 100])
        #expect(self.dueTimes(of: waiting, queued: [1: 101]) == [3: 0, 2: 0, 1: 100])
    }

    /// The new due time of the push would be 200 milliseconds from now.
    @Test(arguments: [(300, false), (301, true)]) func aPushThatIsDueSoonerStays(due: Int64, changes: Bool) {
        #expect(self.dueTimes(of: [self.push(1, due: due)], queued: [1: 201]) == (changes ? [1: 200] : [:]))
    }

    /// Pushes that are due soon stay as they are only if a user has many.
    @Test(arguments: [([:], 0), ([1: 100, 2: 1], 0), ([1: 1, 2: 101], 10_000)] as [([Int64: Int64], Int64)])
    func pushesThatAreDueSoonStayIfAUserHasMany(queued: [Int64: Int64], soon: Int64) {
        #expect(WakePace.start(queued: queued, now: Self.now) == Self.now.milliseconds + soon)
    }

    @Test func eachUserHasAPaceOfTheirOwn() {
        let waiting = [self.push(1, user: 1), self.push(2, user: 2), self.push(3, user: 3)]
        #expect(self.dueTimes(of: waiting, queued: [1: 101, 2: 1]) == [1: 100, 2: 0, 3: 0])
    }
}
