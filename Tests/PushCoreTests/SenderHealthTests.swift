import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SenderHealthTests {
    private let now = Date(timeIntervalSince1970: 1000)
    private static let down = SendFailure.unavailable(reason: "down")
    private static let busy = SendFailure.deviceBusy(reason: "busy", retryAfter: .seconds(60))

    /// A health that has seen this, each of a user of its own.
    private func health(after results: [SendOutcome]) -> SenderHealth {
        var health = SenderHealth()
        for (user, result) in results.enumerated() { health.note(result, user: Int64(user), now: now, jitter: 1) }
        return health
    }

    private static func failures(_ failure: SendFailure, _ count: Int) -> [SendOutcome] {
        Array(repeating: .failure(failure), count: count)
    }

    @Test(arguments: [
        (failures(down, 9), SenderHealth.Admission.go, nil as String?),
        (failures(down, 10), .rest(until: Date(timeIntervalSince1970: 1001)), "down"),
        (failures(down, 9) + [.success(Acceptance())] + failures(down, 9), .go, nil),
        (failures(down, 9) + [.failure(.rejected(reason: "r"))] + failures(down, 9), .go, nil),
        (failures(down, 9) + [.failure(.deviceGone(reason: "r"))] + failures(down, 9), .go, nil),
        (failures(busy, 4), .go, nil), (failures(busy, 5), .rest(until: Date(timeIntervalSince1970: 1060)), "busy"),
        (
            [.failure(.overloaded(reason: "o", retryAfter: .seconds(7)))],
            .rest(until: Date(timeIntervalSince1970: 1007)), "o"
        ),
        ([.failure(.misconfigured(reason: "m"))], .rest(until: Date(timeIntervalSince1970: 1060)), "m"),
        ([.failure(.credentialExpired(reason: "c"))], .rest(until: Date(timeIntervalSince1970: 1060)), "c"),
        (failures(.offline(reason: "x"), 100), .go, nil),
    ])
    func itRestsWhereThatIsAskedForOrNothingGetsThrough(
        results: [SendOutcome],
        expected: SenderHealth.Admission,
        trouble: String?
    ) {
        let health = self.health(after: results)
        #expect(health.admission(now: self.now) == expected)
        #expect(health.trouble == trouble)
    }

    @Test func theDevicesOfOneUserAreNoOutageHoweverBusy() {
        var health = SenderHealth()
        for _ in 0..<100 { health.note(.failure(Self.busy), user: 1, now: now, jitter: 1) }
        #expect(health.admission(now: now) == .go)
    }

    @Test func afterTheRestOneGoesFirstAndTheOthersOnlyIfItIsAnswered() {
        var health = self.health(after: Self.failures(Self.down, 10))
        let later = self.now + 1
        #expect(health.admit(now: later) == .probe)
        #expect(health.admit(now: later) == .wait)
        health.note(.success(Acceptance()), user: 1, now: later, jitter: 1)
        #expect(health.admit(now: later) == .go)
        #expect(health.trouble == nil)
    }

    @Test func eachFurtherRestIsTwiceTheLastUpToABound() {
        var health = self.health(after: Self.failures(Self.down, 10))
        var time = self.now
        var lengths: [TimeInterval] = []
        for _ in 0..<10 {
            guard case .rest(let until) = health.admission(now: time) else { break }
            lengths.append(until.timeIntervalSince(time))
            time = until
            #expect(health.admit(now: time) == .probe)
            health.note(.failure(Self.down), user: 1, now: time, jitter: 1)
        }
        #expect(lengths == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
    }

    @Test func whatWasOnItsWayNeitherEndsARestNorMakesItAnother() {
        var health = self.health(after: Self.failures(Self.down, 10))
        for _ in 0..<50 { health.note(.failure(Self.down), user: 1, now: now, jitter: 1) }
        #expect(health.admission(now: now) == .rest(until: now + 2))
        health.note(.success(Acceptance()), user: 1, now: now, jitter: 1)
        #expect(health.admission(now: now) == .rest(until: now + 2))
        // The longest that any of them asks for counts.
        health.note(.failure(.overloaded(reason: "o", retryAfter: .seconds(30))), user: 1, now: now, jitter: 1)
        #expect(health.admission(now: now) == .rest(until: now + 30))
    }

    @Test func anUnknownDeviceIsTakenForDeadOnlyIfOthersWereReached() {
        let unknown = SendOutcome.failure(.deviceUnknown(reason: "u"))
        #expect(!self.health(after: [unknown]).trustsUnknown)
        let reached = Array(repeating: SendOutcome.success(Acceptance()), count: 4)
        #expect(self.health(after: reached + [unknown]).trustsUnknown)
        #expect(!self.health(after: reached + [unknown, unknown]).trustsUnknown)
    }

    @Test func manyUnknownDevicesAreOurOwnMistake() {
        let unknown = Self.failures(.deviceUnknown(reason: "BadDeviceToken"), 20)
        #expect(self.health(after: Array(unknown.dropLast())).admission(now: now) == .go)
        let health = self.health(after: unknown)
        #expect(health.admission(now: now) == .rest(until: now + SenderHealth.pause))
        #expect(health.trouble == "20 devices refused, 0 reached: BadDeviceToken")
        let mostlyReached = Array(repeating: SendOutcome.success(Acceptance()), count: 80) + unknown
        #expect(self.health(after: mostlyReached).admission(now: now) == .go)
    }

    @Test func newCredentialsEndARest() {
        var health = self.health(after: [.failure(.misconfigured(reason: "m"))])
        health.reset()
        #expect(health.admit(now: now) == .go)
    }
}

@Suite(.timeLimit(.minutes(5))) struct PacerTests {
    /// Asks in steps of a millisecond for ten seconds, and returns when it was admitted, in milliseconds.
    private func admitted(rate: Int) -> [Int] {
        var pacer = Pacer(rate: rate)
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        return (0..<10_000).flatMap { millisecond in
            var count = 0
            while count <= rate, pacer.admit(now: start + Double(millisecond) / 1000) == nil { count += 1 }
            return Array(repeating: millisecond, count: count)
        }
    }

    @Test(arguments: [1, 2, 9, 10, 11, 99, 1000, 5001])
    func inNoSecondAreThereMoreThanTheRateAndHardlyFewer(rate: Int) {
        let times = self.admitted(rate: rate)
        for (first, last) in zip(times, times.dropFirst(rate)) { #expect(last - first >= 999) }
        #expect(times.count >= rate * 9)
        #expect(times.count <= rate * 10 + max(1, rate / 10))
    }

    @Test func aClockThatIsSetBackDoesNotStopIt() {
        var pacer = Pacer(rate: 1)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1_000_000)) == nil)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1000)) == nil)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1000.5)) == Date(timeIntervalSince1970: 1001))
    }
}
