import PushStore
import Testing

@testable import PushPostgreSQL

/// The mark for cleanup: a search reads only rows that expire at the mark or later. Expiries are
/// in milliseconds, and the times of searches are instants of a clock.
@Suite struct RetentionMarkTests {
    private let marks = SearchMarks()
    private let begin = ContinuousClock.now

    /// Simulates a search after `seconds`, which takes `time` and finds `first`. Returns the
    /// expiry at which the search began.
    @discardableResult
    private func search(after seconds: Double, taking time: Duration = .milliseconds(1), first: Int64?) -> Int64 {
        let now = self.begin + .seconds(seconds)
        let search = self.marks.begin(.notifications, at: now)
        self.marks.end(search, first: first, at: now + time)
        return search.start
    }

    @Test func aFastSearchIsFollowedByOneFromTheStart() {
        #expect(self.search(after: 0, first: 100) == .min)
        #expect(self.search(after: 0.1, first: 200) == .min)
    }

    @Test func aSlowSearchIsContinuedForTwentyTimesItsDuration() {
        self.search(after: 0, taking: .seconds(1), first: 100)
        #expect(self.search(after: 2, first: 200) == 100)
        #expect(self.search(after: 3, first: nil) == 200)
        #expect(self.search(after: 19.9, first: nil) == 200)
        #expect(self.search(after: 20.1, first: nil) == .min)
        // The previous full search was fast, because the snapshot that kept deleted rows in the
        // index has ended. Full searches are therefore cheap again.
        #expect(self.search(after: 20.2, first: nil) == .min)
    }

    @Test func aFailedSearchIsFollowedBySearchesOfTheLastHour() {
        let search = self.marks.begin(.notifications, at: self.begin)
        self.marks.fail(search, date: 10_000_000)
        #expect(self.search(after: 5, first: nil) == 6_400_000)
        #expect(self.search(after: 599, first: nil) == 6_400_000)
        #expect(self.search(after: 601, first: nil) == .min)
    }

    @Test func eachKindOfRowHasItsOwnMark() {
        self.search(after: 0, taking: .seconds(1), first: 100)
        #expect(self.marks.begin(.idempotencyKeys, at: self.begin + .seconds(1)).start == .min)
    }
}

/// The progress of deleting the rows of expired notifications.
@Suite struct RetentionProgressTests {
    private let progress = RetentionProgress()

    private func parts(of ids: [Int64], in table: RetentionProgress.Table = .recipients) -> [String] {
        self.progress.parts(of: ids, in: table).map { "\($0.ids) \($0.after == .min ? "all" : "after \($0.after)")" }
    }

    @Test func aStepContinuesAfterTheLastRow() {
        #expect(self.parts(of: [1, 2, 3]) == ["[1, 2, 3] all"])
        self.progress.record([1, 2, 3], in: .recipients, upTo: DuePush(notification: 2, device: 70))
        #expect(self.parts(of: [1, 2, 3]) == ["[2] after 70", "[3] all"])
        #expect(self.parts(of: [1, 2, 3], in: .pushes) == ["[1, 2, 3] all"])
        // Another server had locked the first rows, so the search must begin with them again.
        #expect(self.parts(of: [0, 3, 4]) == ["[0, 3, 4] all"])
        self.progress.record([2], in: .recipients, upTo: nil)
        #expect(self.parts(of: [1, 2, 3]) == ["[3] all"])
    }

    @Test func theProgressOfADeletedNotificationIsDropped() {
        self.progress.record([1, 2], in: .recipients, upTo: nil)
        #expect(self.parts(of: [1, 2]).isEmpty)
        self.progress.forget([1, 2])
        #expect(self.parts(of: [1, 2]) == ["[1, 2] all"])
    }
}
