import PushCore
import PushStore
import Testing

@testable import PushPostgreSQL

/// The mark for the search for due pushes: a search reads only pushes that are due at the mark or
/// later. Due times are in milliseconds, and the times of searches are instants of a clock.
@Suite struct LeaseSearchMarkTests {
    private let marks = SearchMarks()
    private let lane = Lane(Platform("apns"))
    private let begin = ContinuousClock.now

    /// Simulates a search for due pushes after `seconds`, which takes `time` and finds `first`.
    /// Returns the due time at which the search began, and whether the search may also read pushes
    /// with earlier due times.
    @discardableResult
    private func lease(
        after seconds: Double,
        taking time: Duration = .milliseconds(1),
        first: Int64?,
        date: Int64 = 50_000
    ) -> (start: Int64, mayContinueBelow: Bool) {
        let now = self.begin + .seconds(seconds)
        let search = self.marks.begin(.pushes(self.lane, .bulk), lifetime: SearchMarks.lifetime, at: now)
        let continuesBelow = search.mayContinueBelow && first == nil
        self.marks.endLease(
            search,
            first: first,
            continuedBelow: continuesBelow,
            date: date,
            at: now + time
        )
        return (search.start, search.mayContinueBelow)
    }

    private func poll(after seconds: Double, taking time: Duration, first: Int64?) -> Int64 {
        let now = self.begin + .seconds(seconds)
        let search = self.marks.begin(.pushes(self.lane, .bulk), at: now)
        self.marks.endPoll(search, first: first, at: now + time)
        return search.start
    }

    @Test func aSearchAfterAFullLeaseStartsAtThatLeasesOldestPush() {
        #expect(self.lease(after: 0, first: 100) == (.min, false))
        #expect(self.lease(after: 0.1, first: 200) == (100, true))
        #expect(self.lease(after: 0.2, first: nil) == (200, true))
        // The previous search found nothing and was fast, so this search begins without a mark.
        #expect(self.lease(after: 0.3, first: nil) == (.min, false))
    }

    @Test func aSearchBeginsAtTheStartEveryTwoSeconds() {
        self.lease(after: 0, first: 100)
        #expect(self.lease(after: 1.9, first: 200).start == 100)
        #expect(self.lease(after: 2.1, first: 200).start == .min)
    }

    @Test func aSlowSearchDelaysTheNextFullOneTwentyTimesAsLong() {
        self.lease(after: 0, taking: .milliseconds(500), first: nil)
        // The mark lies before the current time, because transactions of other servers may still
        // commit pushes with earlier due times.
        #expect(self.lease(after: 1, first: nil) == (49_000, false))
        #expect(self.lease(after: 9.9, first: 60_000) == (49_000, false))
        #expect(self.lease(after: 10.1, first: nil) == (.min, false))
    }

    @Test func theDelayOfAFullSearchIsAtMostHalfAMinute() {
        self.lease(after: 0, taking: .seconds(60), first: nil)
        #expect(self.lease(after: 29.9, first: nil).start == 49_000)
        #expect(self.lease(after: 30.1, first: nil).start == .min)
    }

    @Test func aDueTimeQueryStartsAtTheMarkOnlyWhileSearchesAreSlow() {
        self.lease(after: 0, first: 100)
        #expect(self.poll(after: 0.1, taking: .milliseconds(1), first: 70) == .min)
        self.lease(after: 3, taking: .milliseconds(500), first: 100)
        #expect(self.poll(after: 4, taking: .milliseconds(1), first: 100) == 100)
        // The pause between full searches is over. The full search is slow again, and finds a push
        // below the mark.
        #expect(self.poll(after: 13.1, taking: .milliseconds(500), first: 70) == .min)
        #expect(self.poll(after: 14, taking: .milliseconds(1), first: 70) == 70)
    }

    @Test func droppedMarksMakeTheNextSearchBeginAtTheStart() {
        self.lease(after: 0, taking: .seconds(1), first: nil)
        let search = self.marks.begin(
            .pushes(self.lane, .bulk),
            lifetime: SearchMarks.lifetime,
            at: self.begin + .seconds(1)
        )
        #expect(search.start == 49_000)
        self.marks.forgetAll()
        // The search has not seen the pushes that were added below its start while it ran.
        self.marks.endLease(
            search,
            first: nil,
            continuedBelow: false,
            date: 50_000,
            at: self.begin + .seconds(2)
        )
        #expect(self.lease(after: 2, first: nil) == (.min, false))
    }
}
