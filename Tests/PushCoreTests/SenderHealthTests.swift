import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SenderHealthTests {
    private let now = at(0)
    private static let down = SendFailure.unavailable(reason: "down")
    private static let busy = SendFailure.deviceBusy(reason: "busy", retryAfter: .seconds(60))
    private static let unknown = SendFailure.deviceUnknown(reason: "BadDeviceToken")
    private static let accepted = SendOutcome.success(Acceptance())

    private static func at(_ seconds: TimeInterval) -> Date {
        Date(timeIntervalSince1970: 1000 + seconds)
    }

    /// Makes a `SenderHealth` that has recorded these results, each for a different user.
    private func health(after results: [SendOutcome]) -> SenderHealth {
        var health = SenderHealth()
        for (user, result) in results.enumerated() {
            _ = health.record(result, user: Int64(user), isKnown: false, now: self.now, jitter: 1)
        }
        return health
    }

    private static func failures(_ failure: SendFailure, _ count: Int) -> [SendOutcome] {
        Array(repeating: .failure(failure), count: count)
    }

    @Test(arguments: [
        (failures(down, 9), SenderHealth.Admission.go, nil as Pause.Cause?, nil as String?),
        (failures(down, 10), .delay(until: at(1)), .outage, "down"),
        (failures(down, 9) + [accepted] + failures(down, 9), .go, nil, nil),
        (failures(down, 9) + [.failure(.rejected(reason: "r"))] + failures(down, 9), .go, nil, nil),
        (failures(down, 9) + [.failure(.deviceGone(reason: "r"))] + failures(down, 9), .go, nil, nil),
        (failures(busy, 4), .go, nil, nil), (failures(busy, 5), .delay(until: at(60)), .throttled, "busy"),
        ([.failure(.overloaded(reason: "o", retryAfter: .seconds(7)))], .delay(until: at(7)), .overloaded, "o"),
        ([.failure(.misconfigured(reason: "m"))], .delay(until: at(60)), .misconfigured, "m"),
        ([.failure(.credentialExpired(reason: "c"))], .delay(until: at(60)), .misconfigured, "c"),
        ([.failure(.credentialRefused(reason: "i"))], .delay(until: at(60)), .misconfigured, "i"),
        ([accepted] + failures(.credentialRefused(reason: "i"), 9), .go, nil, nil),
        ([accepted] + failures(.credentialRefused(reason: "i"), 10), .delay(until: at(60)), .misconfigured, "i"),
        (
            [accepted] + failures(.credentialRefused(reason: "i"), 9) + [.failure(.deviceGone(reason: "r"))]
                + failures(.credentialRefused(reason: "i"), 9),
            .go, nil, nil
        ),
        (failures(.deviceNotFound(reason: "n"), 4), .go, nil, nil),
        (
            failures(.deviceNotFound(reason: "n"), 5), .delay(until: at(60)), .devicesRefused,
            "devices of 5 users in a row refused, none accepted: n"
        ),
        ([accepted] + failures(.deviceNotFound(reason: "n"), 100), .go, nil, nil),
        (failures(.offline(reason: "x"), 100), .go, nil, nil),
        (failures(.kindRefused(reason: "k"), 100), .go, nil, nil),
        (failures(.deviceGone(reason: "g"), 100), .go, nil, nil),
    ])
    func lanePausesOnRequestOrIfNothingGetsThrough(
        results: [SendOutcome],
        expected: SenderHealth.Admission,
        cause: Pause.Cause?,
        reason: String?
    ) {
        let health = self.health(after: results)
        #expect(health.admission(now: self.now) == expected)
        #expect(health.pause?.cause == cause)
        #expect(health.pause?.reason == reason)
    }

    @Test(arguments: [
        down, busy, unknown, .overloaded(reason: "o", retryAfter: .seconds(7)), .misconfigured(reason: "m"),
        .credentialRefused(reason: "c"), .deviceGone(reason: "g"), .deviceNotFound(reason: "n"),
    ])
    func noFailurePausesALaneOfUnrelatedHosts(failure: SendFailure) {
        var health = SenderHealth(hasUnrelatedHosts: true)
        for user in Int64(0)..<100 {
            let event = health.record(.failure(failure), user: user, isKnown: true, now: self.now, jitter: 1)
            #expect(event == nil)
        }
        #expect(health.admission(now: self.now) == .go)
        #expect(health.blameForGone == .device)
        // An accepted push shows that the server's key is right.
        #expect(health.blame == .unclear)
        _ = health.record(Self.accepted, user: 1, isKnown: true, now: self.now, jitter: 1)
        #expect(health.blame == .device)
    }

    @Test func goneDevicesOfManyUsersAreKeptUntilASuccess() {
        var health = SenderHealth()
        let gone = SendOutcome.failure(.deviceGone(reason: "g"))
        func record(_ outcome: SendOutcome, _ user: Int64) -> HealthEvent? {
            health.record(outcome, user: user, isKnown: true, now: self.now, jitter: 1)
        }
        for _ in 0..<100 { #expect(record(gone, 0) == nil) }
        for user in 1..<19 { #expect(record(gone, Int64(user)) == nil) }
        #expect(health.blameForGone == .device)
        #expect(record(gone, 19) == .manyGone(reason: "g"))
        #expect(record(gone, 20) == nil)
        #expect(health.blameForGone == .us)
        #expect(record(Self.accepted, 21) == nil)
        #expect(record(gone, 22) == nil)
        #expect(health.blameForGone == .device)
    }

    @Test func refusedKindOfDeviceIsReportedOnce() {
        var health = SenderHealth()
        let refused = SendOutcome.failure(.kindRefused(reason: "THIRD_PARTY_AUTH_ERROR"))
        let events = (0..<5).map { health.record(refused, user: $0, isKnown: true, now: self.now, jitter: 1) }
        #expect(events == [.kindRefused(reason: "THIRD_PARTY_AUTH_ERROR"), nil, nil, nil, nil])
    }

    /// The first value of a row says whether another push is accepted between the two attempts;
    /// the second value, whether the lane pauses.
    @Test(arguments: [(true, false), (false, true)])
    func credentialRefusedAgainAtARetryPausesTheLane(isAccepted: Bool, pauses: Bool) {
        var health = self.health(after: [Self.accepted])
        let refused = SendOutcome.failure(.credentialRefused(reason: "InvalidProviderToken"))
        _ = health.record(refused, user: 1, isKnown: true, now: self.now, jitter: 1)
        #expect(health.admission(now: self.now) == .go)
        if isAccepted { _ = health.record(Self.accepted, user: 2, isKnown: true, now: self.now, jitter: 1) }
        _ = health.record(refused, user: 1, isKnown: true, isRepeated: true, now: self.now, jitter: 1)
        #expect((health.pause?.cause == .misconfigured) == pauses)
    }

    @Test func busyDevicesOfOneUserDoNotPauseTheLane() {
        var health = SenderHealth()
        for _ in 0..<100 { _ = health.record(.failure(Self.busy), user: 1, isKnown: false, now: self.now, jitter: 1) }
        #expect(health.admission(now: self.now) == .go)
    }

    @Test func pausedLaneResumesAfterASuccessfulProbe() {
        var health = self.health(after: Self.failures(Self.down, 10))
        let later = Self.at(1)
        #expect(health.admit(now: later) == .probe)
        #expect(health.admit(now: later) == .wait)
        _ = health.record(Self.accepted, user: 1, isKnown: true, now: later, jitter: 1)
        #expect(health.admit(now: later) == .go)
        #expect(health.pause == nil)
    }

    /// Returns the lengths of the consecutive delays in a pause; after each delay, a probe fails.
    private func delays(after results: [SendOutcome], probes failure: SendFailure, isKnown: Bool) -> [TimeInterval] {
        var health = self.health(after: results)
        var time = self.now
        var lengths: [TimeInterval] = []
        for _ in 0..<10 {
            guard case .delay(let until) = health.admission(now: time) else { break }
            lengths.append(until.timeIntervalSince(time))
            time = until
            #expect(health.admit(now: time) == .probe)
            _ = health.record(.failure(failure), user: 1, isKnown: isKnown, now: time, jitter: 1)
        }
        return lengths
    }

    @Test func pausesDoubleUpToALimit() {
        let outage = Self.failures(Self.down, 10)
        #expect(
            self.delays(after: outage, probes: Self.down, isKnown: true) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
        )
        let refusals = Self.failures(Self.unknown, 5)
        #expect(
            self.delays(after: refusals, probes: Self.unknown, isKnown: true)
                == [60, 120, 240, 480, 900, 900, 900, 900, 900, 900]
        )
    }

    /// Anybody can register an address that is never reachable, so a failed probe to a new address
    /// must not make a delay longer than a minute.
    @Test(
        arguments: [
            (failures(down, 10), down, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]),
            (failures(unknown, 5), unknown, [60, 60, 60, 60, 60, 60, 60, 60, 60, 60]),
            (failures(.misconfigured(reason: "m"), 1), unknown, [60]),
        ] as [([SendOutcome], SendFailure, [TimeInterval])]
    )
    func probesToNewAddressesDoNotProlongPauses(
        results: [SendOutcome],
        probe: SendFailure,
        expected: [TimeInterval]
    ) {
        #expect(self.delays(after: results, probes: probe, isKnown: false) == expected)
    }

    @Test func pushesInFlightNeitherEndNorRestartAPause() {
        var health = self.health(after: Self.failures(Self.down, 10))
        for _ in 0..<50 {
            let event = health.record(.failure(Self.down), user: 1, isKnown: false, now: self.now + 0.5, jitter: 1)
            #expect(event == nil)
        }
        #expect(health.admission(now: self.now) == .delay(until: self.now + 1.5))
        _ = health.record(Self.accepted, user: 1, isKnown: false, now: self.now, jitter: 1)
        #expect(health.admission(now: self.now) == .delay(until: self.now + 1.5))
        // If several answers request a delay, the longest one counts.
        let overloaded = SendOutcome.failure(.overloaded(reason: "o", retryAfter: .seconds(30)))
        _ = health.record(overloaded, user: 1, isKnown: false, now: self.now, jitter: 1)
        #expect(health.admission(now: self.now) == .delay(until: self.now + 30))
        #expect(health.pause?.cause == .outage)
    }

    @Test func newCredentialsEndAPause() {
        var health = self.health(after: [.failure(.misconfigured(reason: "m"))])
        let pause = Pause(.misconfigured, reason: "m", since: self.now, until: Self.at(60))
        #expect(health.reset() == .resumed(pause))
        #expect(health.admit(now: self.now) == .go)
        #expect(health.reset() == nil)
    }
}
