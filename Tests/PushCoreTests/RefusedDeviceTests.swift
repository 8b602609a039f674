import Foundation
import PushCore
import Testing

/// The reaction of a lane (queue of pushes) to refusals that may be caused by the device or by the
/// server's configuration.
@Suite(.timeLimit(.minutes(5))) struct RefusedDeviceTests {
    private static let words = "devices of 5 users in a row refused, none accepted: BadDeviceToken"

    /// The result of a call to the provider, with the user of the device and the time.
    enum Call: Sendable {
        case refused(Int64, at: TimeInterval)
        case accepted(Int64, at: TimeInterval)

        var user: Int64 {
            switch self {
            case .refused(let user, _), .accepted(let user, _): user
            }
        }
        var date: Date {
            switch self {
            case .refused(_, let at), .accepted(_, let at): RefusedDeviceTests.at(at)
            }
        }
        var outcome: SendOutcome {
            switch self {
            case .refused: .failure(.deviceUnknown(reason: "BadDeviceToken"))
            case .accepted: .success(Acceptance())
            }
        }
    }

    private static func at(_ seconds: TimeInterval) -> Date {
        Date(timeIntervalSince1970: 1000 + seconds)
    }

    private static func refused(_ users: ClosedRange<Int64>, at time: TimeInterval = 0) -> [Call] {
        users.map { .refused($0, at: time) }
    }

    private func health(after calls: [Call]) -> SenderHealth {
        var health = SenderHealth()
        for call in calls {
            _ = health.record(call.outcome, user: call.user, isKnown: false, now: call.date, jitter: 1)
        }
        return health
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let calls: [Call]
        let pauses: Bool
        let blame: Blame

        init(_ description: String, _ calls: [Call], pauses: Bool, _ blame: Blame) {
            self.testDescription = description
            self.calls = calls
            self.pauses = pauses
            self.blame = blame
        }
    }

    @Test(arguments: [
        Row("the first of all", refused(1...1), pauses: false, .unclear),
        Row("25 devices of one user", Array(repeating: .refused(1, at: 0), count: 25), pauses: false, .unclear),
        Row("4 users", refused(1...4), pauses: false, .unclear),
        Row("5 users", refused(1...5), pauses: true, .us),
        Row("5 users, once each in an hour", (1...5).map { .refused($0, at: 3600 * Double($0)) }, pauses: true, .us),
        Row("one user after another was accepted", [.accepted(9, at: 0)] + refused(1...1), pauses: false, .device),
        Row("one user after it was accepted", [.accepted(1, at: 0), .refused(1, at: 1)], pauses: false, .device),
        Row(
            "4 users, days after one was accepted",
            [.accepted(9, at: 0)] + refused(1...4, at: 9e5),
            pauses: false,
            .device
        ),
        Row(
            "a thousand users after one was accepted",
            [.accepted(9, at: 0)] + refused(1...1000),
            pauses: false,
            .unclear
        ),
        Row("5 users just before trust ends", [.accepted(9, at: 0)] + refused(1...5, at: 599), pauses: false, .unclear),
        Row("5 users when trust has ended", [.accepted(9, at: 0)] + refused(1...5, at: 600), pauses: true, .us),
        Row(
            "9 users, one accepted in between, long ago",
            refused(1...4) + [.accepted(9, at: 1)] + refused(5...8, at: 9999),
            pauses: false,
            .device
        ),
        Row(
            "5 users, and one more accepted that was on its way",
            refused(1...5) + [.accepted(9, at: 1)],
            pauses: false,
            .device
        ),
        Row("one user too little at a time", refused(1...4) + refused(1...4, at: 1), pauses: false, .unclear),
    ])
    func onlyRefusalsOfSeveralUsersPauseTheLane(row: Row) {
        let health = self.health(after: row.calls)
        #expect((health.pause?.cause == .devicesRefused) == row.pauses)
        #expect((health.pause == nil) == !row.pauses)
        #expect(health.blame == row.blame)
    }

    @Test func pauseIsReportedOnceWithItsReasonAndEnd() {
        var health = SenderHealth()
        var events: [HealthEvent] = []
        func record(_ call: Call, isKnown: Bool = false) {
            if let event = health.record(call.outcome, user: call.user, isKnown: isKnown, now: call.date, jitter: 1) {
                events.append(event)
            }
        }
        for user in 1...20 { record(.refused(Int64(user), at: 0)) }
        let first = Pause(.devicesRefused, reason: Self.words, since: Self.at(0), until: Self.at(60))
        #expect(events == [.doubted(reason: "BadDeviceToken"), .paused(first)])
        #expect(health.admit(now: Self.at(60)) == .probe)
        record(.refused(21, at: 60), isKnown: true)
        let second = Pause(.devicesRefused, reason: Self.words, since: Self.at(0), until: Self.at(180))
        #expect(events.last == .prolonged(second, delay: 120))
        #expect(health.admit(now: Self.at(180)) == .probe)
        _ = health.record(.failure(.misconfigured(reason: "m")), user: 1, isKnown: true, now: Self.at(180), jitter: 1)
            .map { events.append($0) }
        let third = Pause(.misconfigured, reason: "m", since: Self.at(0), until: Self.at(420))
        #expect(events.last == .changed(from: second, to: third))
        #expect(health.admit(now: Self.at(420)) == .probe)
        record(.accepted(22, at: 420))
        #expect(events.last == .resumed(third))
        #expect(events.count == 5)
    }

    @Test func retriesDoNotCountAsNewEvidence() {
        var health = self.health(after: Self.refused(1...4))
        for user in 5...20 {
            let outcome = Call.refused(Int64(user), at: 700).outcome
            let date = Self.at(700)
            #expect(
                health.record(outcome, user: Int64(user), isKnown: false, isRepeated: true, now: date, jitter: 1) == nil
            )
        }
        #expect(health.pause == nil)
        _ = health.record(Call.refused(21, at: 700).outcome, user: 21, isKnown: false, now: Self.at(700), jitter: 1)
        #expect(health.pause?.cause == .devicesRefused)
    }

    @Test func refusedProbeResumesALanePausedForAnotherCause() {
        var health = self.health(after: [])
        _ = health.record(.failure(.misconfigured(reason: "m")), user: 1, isKnown: false, now: Self.at(0), jitter: 1)
        #expect(health.admit(now: Self.at(60)) == .probe)
        let event = health.record(Call.refused(1, at: 60).outcome, user: 1, isKnown: false, now: Self.at(60), jitter: 1)
        #expect(event == .resumed(Pause(.misconfigured, reason: "m", since: Self.at(0), until: Self.at(60))))
        #expect(health.pause == nil)
    }

    @Test func probesAvoidUsersWhoWereRefusedOrBusyUntilOneIsAccepted() {
        let busy = SendOutcome.failure(.deviceBusy(reason: "busy", retryAfter: .seconds(60)))
        var health = self.health(after: Self.refused(1...2))
        _ = health.record(busy, user: 3, isKnown: false, now: Self.at(0), jitter: 1)
        #expect(health.probeChoice == ProbeChoice(.known, avoiding: [1, 2, 3]))
        _ = health.record(.success(Acceptance()), user: 1, isKnown: false, now: Self.at(0), jitter: 1)
        #expect(health.probeChoice == ProbeChoice(.known, avoiding: []))
    }

    /// After a change of the VAPID key, the push service accepts only browsers that have
    /// subscribed again.
    @Test func knownAndNewAddressesTakeTurnsAsProbes() {
        var health = self.health(after: Self.refused(1...5))
        var time = Self.at(60)
        var choices: [ProbeChoice.Address] = []
        for user in Int64(10)..<14 {
            choices.append(health.probeChoice.address)
            #expect(health.admit(now: time) == .probe)
            _ = health.record(Call.refused(user, at: 0).outcome, user: user, isKnown: true, now: time, jitter: 1)
            time = health.pause?.until ?? time
        }
        #expect(choices == [.known, .new, .known, .new])
        #expect(health.probeChoice.avoidedUsers == [1, 2, 3, 4, 5, 10, 11, 12, 13])
    }

    @Test func probeOfAnOutageGoesToAKnownAddress() {
        var health = SenderHealth()
        let down = SendOutcome.failure(.unavailable(reason: "down"))
        for user in Int64(0)..<10 { _ = health.record(down, user: user, isKnown: false, now: Self.at(0), jitter: 1) }
        _ = health.admit(now: Self.at(1))
        _ = health.record(down, user: 1, isKnown: true, now: Self.at(1), jitter: 1)
        #expect(health.probeChoice.address == .known)
    }
}
