import PushCore
import PushStore
import Testing

@testable import PushPostgreSQL

/// The time from which leasing looks for due pushes. Times are milliseconds of pushes, and
/// instants of looks.
@Suite struct ClaimMarkTests {
    private let marks = ClaimMarks()
    private let lane = Lane(Platform("apns"))
    private let begin = ContinuousClock.now

    /// Leases at `seconds`, which takes `time`. Returns where the look began, and whether it
    /// could go below that.
    @discardableResult
    private func claim(
        after seconds: Double,
        taking time: Duration = .milliseconds(1),
        first: Int64?,
        date: Int64 = 50_000
    ) -> (start: Int64, mayGoBelow: Bool) {
        let now = self.begin + .seconds(seconds)
        let look = self.marks.beginClaim(in: self.lane, .bulk, at: now)
        let goesBelow = look.mayGoBelow && first == nil
        self.marks.endClaim(
            look,
            in: self.lane,
            .bulk,
            first: first,
            wentBelow: goesBelow,
            date: date,
            at: now + time
        )
        return (look.start, look.mayGoBelow)
    }

    private func question(after seconds: Double, taking time: Duration, first: Int64?) -> Int64 {
        let now = self.begin + .seconds(seconds)
        let look = self.marks.beginQuestion(in: self.lane, .bulk, at: now)
        self.marks.endQuestion(look, in: self.lane, .bulk, first: first, at: now + time)
        return look.start
    }

    @Test func aClaimAfterAFullOneBeginsWhereThatBegan() {
        #expect(self.claim(after: 0, first: 100) == (.min, false))
        #expect(self.claim(after: 0.1, first: 200) == (100, true))
        #expect(self.claim(after: 0.2, first: nil) == (200, true))
        // Nothing was left, and the look was fast.
        #expect(self.claim(after: 0.3, first: nil) == (.min, false))
    }

    @Test func everyTwoSecondsAClaimBeginsAtTheStart() {
        self.claim(after: 0, first: 100)
        #expect(self.claim(after: 1.9, first: 200).start == 100)
        #expect(self.claim(after: 2.1, first: 200).start == .min)
    }

    @Test func afterASlowLookNoneGoesToTheStartForTwentyTimesAsLong() {
        self.claim(after: 0, taking: .milliseconds(500), first: nil)
        // Transactions that other servers are about to commit may contain pushes that were due a
        // second earlier.
        #expect(self.claim(after: 1, first: nil) == (49_000, false))
        #expect(self.claim(after: 9.9, first: 60_000) == (49_000, false))
        #expect(self.claim(after: 10.1, first: nil) == (.min, false))
    }

    @Test func noRestIsLongerThanHalfAMinute() {
        self.claim(after: 0, taking: .seconds(60), first: nil)
        #expect(self.claim(after: 29.9, first: nil).start == 49_000)
        #expect(self.claim(after: 30.1, first: nil).start == .min)
    }

    @Test func aQuestionBeginsAtTheMarkOnlyWhileLookingIsSlow() {
        self.claim(after: 0, first: 100)
        #expect(self.question(after: 0.1, taking: .milliseconds(1), first: 70) == .min)
        self.claim(after: 3, taking: .milliseconds(500), first: 100)
        #expect(self.question(after: 4, taking: .milliseconds(1), first: 100) == 100)
        // The pause is over, looks are slow again, and there was a push below the mark.
        #expect(self.question(after: 13.1, taking: .milliseconds(500), first: 70) == .min)
        #expect(self.question(after: 14, taking: .milliseconds(1), first: 70) == 70)
    }

    @Test func whatAnotherServerHadLeasedIsLookedForAtOnce() {
        self.claim(after: 0, taking: .seconds(1), first: nil)
        let look = self.marks.beginClaim(in: self.lane, .bulk, at: self.begin + .seconds(1))
        #expect(look.start == 49_000)
        self.marks.forgetAll()
        // The look has not seen pushes that came below its start.
        self.marks.endClaim(
            look,
            in: self.lane,
            .bulk,
            first: nil,
            wentBelow: false,
            date: 50_000,
            at: self.begin + .seconds(2)
        )
        #expect(self.claim(after: 2, first: nil) == (.min, false))
    }
}
