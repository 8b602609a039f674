import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct PacerTests {
    /// Asks the pacer every millisecond for ten seconds. Returns the milliseconds at which the
    /// pacer admitted a push.
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
    func eachSecondAdmitsTheRateAndNoMore(rate: Int) {
        let times = self.admitted(rate: rate)
        for (first, last) in zip(times, times.dropFirst(rate)) { #expect(last - first >= 999) }
        #expect(times.count >= rate * 9)
        #expect(times.count <= rate * 10 + max(1, rate / 10))
    }

    @Test(arguments: [1, 5, 100, 1000], [1, 2, 3, 64]) func sendersThatShareTheRateKeepToIt(rate: Int, senders: Int) {
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        var pacer = Pacer(rate: rate)
        pacer.share(among: senders)
        let seconds = 20
        let count = (0..<seconds * 1000).reduce(0) { count, millisecond in
            var count = count
            while pacer.admit(now: start + Double(millisecond) / 1000) == nil { count += 1 }
            return count
        }
        let share = Double(seconds * rate) / Double(senders)
        #expect(Double(count) <= share + max(1, share / 100))
        #expect(Double(count) >= share * 0.9 - 1)
    }

    @Test func aChangeOfTheShareAdmitsNothingAtOnce() {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var pacer = Pacer(rate: 1000)
        for senders in [1, 10, 1, 100, 1, 2, 3, 1] {
            pacer.share(among: senders)
            while pacer.admit(now: now) == nil {}
            for other in [1, senders, 5, senders] {
                pacer.share(among: other)
                #expect(pacer.admit(now: now) != nil, "\(senders), \(other)")
            }
            now += 1
        }
    }

    @Test func aClockThatIsSetBackDoesNotStopIt() {
        var pacer = Pacer(rate: 1)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1_000_000)) == nil)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1000)) == nil)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 1000.5)) == Date(timeIntervalSince1970: 1001))
    }

    @Test func rateRisesForAMinuteAfterAPause() {
        var pacer = Pacer(rate: 1000)
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        pacer.beginRise(now: start)
        let counts = (0..<70).map { second in
            (0..<1000).reduce(0) { count, millisecond in
                var count = count
                let now = start + Double(second) + Double(millisecond) / 1000
                while pacer.admit(now: now) == nil { count += 1 }
                return count
            }
        }
        #expect((100...200).contains(counts[0]), "\(counts)")
        #expect((500...600).contains(counts[30]), "\(counts)")
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 + 100 }, "\(counts)")
        #expect(counts[62...].allSatisfy { (990...1000).contains($0) }, "\(counts)")
    }

    @Test func aClockThatIsSetBackEndsARise() {
        var pacer = Pacer(rate: 10)
        pacer.beginRise(now: Date(timeIntervalSince1970: 1000))
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 900)) == nil)
        #expect(pacer.admit(now: Date(timeIntervalSince1970: 900)) == Date(timeIntervalSince1970: 900.1))
    }
}
