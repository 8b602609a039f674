import Testing

@testable import PushServer

/// Tests when the streams of a user may make waiting pushes due.
struct WakeTurnTests {
    private let turns = WakeTurns()
    private let start = ContinuousClock.now

    /// `took` is how long the work of the first stream took, and `pause` is the time after its end
    /// in which no other stream of the user begins; both in milliseconds.
    @Test(arguments: [(101, 0, 0), (101, 1, 4), (101, 300, 1200), (101, 5000, 5000), (100, 5000, 0)])
    func thePauseIsFourTimesTheWorkForManyPushes(count: Int, took: Int, pause: Int) {
        let end = self.start + .milliseconds(took)
        let next = end + .milliseconds(pause)
        #expect(self.turns.take(ofUser: 1, now: self.start) == nil)
        self.turns.end(ofUser: 1, count: count, start: self.start, now: end)
        if pause > 0 { #expect(self.turns.take(ofUser: 1, now: next - .milliseconds(1)) == next) }
        #expect(self.turns.take(ofUser: 1, now: next) == nil)
    }

    @Test func oneStreamOfAUserWorksAtATime() {
        #expect(self.turns.take(ofUser: 1, now: self.start) == nil)
        #expect(self.turns.take(ofUser: 1, now: self.start) == self.start + .milliseconds(50))
        #expect(self.turns.take(ofUser: 2, now: self.start) == nil)
        self.turns.end(ofUser: 1, count: 0, start: self.start, now: self.start)
        #expect(self.turns.take(ofUser: 1, now: self.start) == nil)
    }

    /// Otherwise the turns of users who are gone would fill the memory.
    @Test func pastTurnsAreForgottenAndTakenTurnsAreNot() {
        for user in 0..<3000 {
            #expect(self.turns.take(ofUser: Int64(user), now: self.start) == nil)
            if user > 0 { self.turns.end(ofUser: Int64(user), count: 0, start: self.start, now: self.start) }
        }
        #expect(self.turns.take(ofUser: 0, now: self.start) != nil)
        #expect(self.turns.count <= 1001)
    }
}
