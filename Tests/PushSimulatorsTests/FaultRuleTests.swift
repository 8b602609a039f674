import Foundation
import PushSimulators
import Synchronization
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct FaultRuleTests {
    @Test(arguments: [
        ("always: no-answer", FaultRule(.noAnswer)),
        (
            "every 10: status 503 retry-after 5",
            FaultRule(.answer(status: 503, retryAfter: .seconds(5)), when: [.every(10)])
        ),
        (
            "next 3: status 429 retry-after date 30 body {\"reason\": \"a b\"}",
            FaultRule(
                .answer(status: 429, retryAfter: .dateAfter(seconds: 30), body: "{\"reason\": \"a b\"}"),
                when: [.next(3)]
            )
        ),
        ("chance 0.25: reset", FaultRule(.reset, when: [.chance(0.25)])),
        ("chance 5% seed 7: cut", FaultRule(.cut, when: [.chance(0.05, seed: 7)])),
        (
            "device https://localhost:1/w/ every 2: goaway reason Shutdown",
            FaultRule(.goAway(reason: "Shutdown"), when: [.device("https://localhost:1/w/"), .every(2)])
        ),
        (
            "from 250ms to 6h: goaway-before",
            FaultRule(.goAwayBefore(), when: [.between(.milliseconds(250), .seconds(21_600))])
        ),
        ("always:  slow 2s ", FaultRule(.slow(.seconds(2)))),
        ("every 2: zero-window", FaultRule(.zeroWindow, when: [.every(2)])),
    ])
    func aRuleIsReadFromItsText(text: String, expected: FaultRule) throws {
        #expect(try FaultRule(text) == expected)
    }

    @Test(arguments: [
        ("refuse-stream", "\"refuse-stream\": a rule is conditions, a colon, a blank and a fault"),
        ("sometimes: reset", "\"sometimes\" is no condition; known are always, every, next, chance, device, from"),
        ("always every 2: reset", "\"always\" stands alone"),
        ("every 2 always: reset", "\"always\" stands alone"),
        ("every 0: reset", "\"every\" needs a whole number from 1 to 1000000000 behind it"),
        ("every: reset", "\"every\" needs a whole number from 1 to 1000000000 behind it"),
        ("chance 2: reset", "\"chance\" needs a number from 0 to 1, or from 0% to 100%, behind it"),
        ("chance nan: reset", "\"chance\" needs a number from 0 to 1, or from 0% to 100%, behind it"),
        ("from 5s to 5s: reset", "\"from\" must be before \"to\""),
        ("from 5s: reset", "\"from\" needs \"to\" and a time"),
        ("always: slow 5", "\"slow\" needs a time such as 250ms, 5s, 10m or 6h behind it"),
        ("always: slow 99999999999999999999s", "\"slow\" needs a time such as 250ms, 5s, 10m or 6h behind it"),
        ("always: status 199", "\"status\" needs a whole number from 200 to 599 behind it"),
        ("always: status 503 retry-after soon", "\"retry-after\" needs a whole number from 0 to 1000000000 behind it"),
        ("always: reset now", "\"now\" is unknown after reset"),
        ("always: status 400 reason x", "\"reason\" is unknown after status; known there are retry-after and body"),
        ("always: ", "the fault is missing"),
        ("device a: zero-window", "zero-window: happens to connections, which belong to no device"),
    ])
    func aMalformedRuleIsRefusedAndItsWordNamed(text: String, expected: String) {
        #expect(throws: FaultSyntaxError(expected)) { try FaultRule(text) }
    }

    @Test func anUnknownFaultIsReportedWithAllKnownOnes() {
        let error = #expect(throws: FaultSyntaxError.self) { try FaultRule("always: explode") }
        #expect(error?.description.contains("refuse-stream, no-answer, bad-json, reset") == true)
    }

    // MARK: - Affected requests

    /// Of the first `count` requests, returns the numbers of those that get the fault. The first
    /// request has the number 1.
    private static func hits(_ text: String, among count: Int = 12, device: String = "abcd") throws -> [Int] {
        let script = FaultScript([try FaultRule(text)], now: { Date(timeIntervalSince1970: 0) })
        return (1...count).filter { _ in script.faultOfRequest { device } != nil }
    }

    @Test func theConditionsChooseTheRequests() throws {
        #expect(try Self.hits("every 5: reset") == [5, 10])
        #expect(try Self.hits("next 2: reset") == [1, 2])
        #expect(try Self.hits("every 4 next 2: reset") == [4, 8])
        #expect(try Self.hits("device bc: reset").count == 12)
        #expect(try Self.hits("device xy: reset") == [])
        #expect(try Self.hits("every 2: zero-window") == [])
    }

    @Test func chanceIsTheSameForTheSameSeed() throws {
        let first = try Self.hits("chance 20% seed 7: reset", among: 1000)
        #expect(first == (try Self.hits("chance 20% seed 7: reset", among: 1000)))
        #expect(first != (try Self.hits("chance 20% seed 8: reset", among: 1000)))
        #expect((150...250).contains(first.count))
        #expect(try Self.hits("chance 0: reset") == [])
        #expect(try Self.hits("chance 100%: reset").count == 12)
    }

    @Test func aTimeBeginsWhenTheRulesAreSet() throws {
        let time = Mutex(Date(timeIntervalSince1970: 1000))
        let script = FaultScript([], now: { time.withLock { $0 } })
        script.set([try FaultRule("from 10s to 20s: reset")])
        let hits = [0, 9.5, 10, 19.5, 20].map { seconds in
            time.withLock { $0 = Date(timeIntervalSince1970: 1000 + seconds) }
            return script.faultOfRequest { "" } != nil
        }
        #expect(hits == [false, false, true, true, false])
    }

    @Test func theFirstRuleThatHoldsDecides() throws {
        let rules = try ["device b: reset", "always: cut"].map { text throws in try FaultRule(text) }
        let script = FaultScript(rules, now: { Date() })
        #expect(script.faultOfRequest { "a" } == .cut)
        #expect(script.faultOfRequest { "b" } == .reset)
        #expect(script.faultOfConnection() == nil)
    }
}
