import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct HostTrialsTests {
    private let start = ContinuousClock.now

    @Test func aHostThatAnswersIsUnlimited() {
        var trials = HostTrials(limit: 2)
        #expect(trials.admit("a", now: self.start) == .trial)
        trials.recordAnswer(of: "a")
        trials.endTrial("a")
        for _ in 0..<100 { #expect(trials.admit("a", now: self.start) == .go) }
    }

    @Test func aHostThatAnswersSlowlyIsLimited() {
        var trials = HostTrials(limit: 2)
        trials.recordAnswer(of: "a", after: .milliseconds(4999))
        #expect(trials.admit("a", now: self.start) == .go)
        trials.recordAnswer(of: "a", after: HostTrials.slowAnswer)
        #expect(trials.admit("a", now: self.start) == .trial)
        #expect(trials.admit("a", now: self.start + .seconds(1)) == .leaveAlone(.seconds(1)))
        trials.endTrial("a")
        #expect(trials.admit("a", now: self.start) == .trial)
    }

    @Test func callsWaitHalfASecondForAHostsFirstAnswer() {
        var trials = HostTrials(limit: 4)
        for _ in 0..<2 { #expect(trials.admit("a", now: self.start) == .trial) }
        #expect(trials.admit("a", now: self.start + .milliseconds(499)) == .wait)
        #expect(trials.admit("a", now: self.start + .milliseconds(500)) == .leaveAlone(.seconds(1)))
    }

    @Test func hostsWithoutAnAnswerShareTheLimit() {
        var trials = HostTrials(limit: 4)
        for host in ["a", "b", "c", "d"] { #expect(trials.admit(host, now: self.start) == .trial) }
        #expect(trials.admit("e", now: self.start) == .leaveAlone(.seconds(1)))
        trials.endTrial("a")
        #expect(trials.admit("e", now: self.start) == .trial)
    }

    @Test func aSilentHostIsNotCalledForAMinute() {
        var trials = HostTrials(limit: 2)
        #expect(trials.admit("a", now: self.start) == .trial)
        trials.recordSilence(of: "a", now: self.start)
        trials.endTrial("a")
        #expect(trials.admit("a", now: self.start + .seconds(20)) == .leaveAlone(.seconds(40)))
        #expect(trials.admit("b", now: self.start) == .trial)
        #expect(trials.admit("a", now: self.start + .seconds(60)) == .trial)
    }

    @Test func aHostThatFallsSilentNeedsAnotherTrial() {
        var trials = HostTrials(limit: 1)
        trials.recordAnswer(of: "a")
        #expect(trials.admit("a", now: self.start) == .go)
        trials.recordSilence(of: "a", now: self.start)
        #expect(trials.admit("a", now: self.start) == .trial)
        #expect(trials.admit("a", now: self.start) == .wait)
        // After an answer and the end of the trial, calls to the host need no trial.
        trials.recordAnswer(of: "a")
        trials.endTrial("a")
        #expect(trials.admit("a", now: self.start) == .go)
    }

    @Test func theHostsInMemoryAreLimited() {
        var trials = HostTrials(limit: 1)
        for number in 0..<2 * HostTrials.rememberedHosts {
            _ = trials.admit("\(number)", now: self.start)
            trials.recordSilence(of: "\(number)", now: self.start)
            trials.endTrial("\(number)")
        }
        #expect(trials.count <= HostTrials.rememberedHosts)
        // Entries whose delay is over make room for new ones.
        let later = self.start + HostTrials.silentHostDelay
        trials.recordSilence(of: "new", now: later)
        #expect(trials.admit("new", now: later) == .leaveAlone(HostTrials.silentHostDelay))
    }
}
