import Foundation
import PushCore
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct NotificationIDsTests {
    @Test(arguments: [2, 16, 24, 25, 31, 53])
    func anIDHasAtMostTheConfiguredBits(bits: Int) {
        let ids = NotificationIDs(bits: bits)
        for number in 0..<1000 {
            let id = ids.draw(at: Date(timeIntervalSince1970: Double(number)))
            #expect(id.map { $0.rawValue < 1 << bits } ?? true)
        }
    }

    @Test func idsOfOneMomentAreCloseAndOthersAreScattered() {
        let ids = NotificationIDs(bits: 31)
        // These times are within an eighth of a second.
        let moment = (0..<100).compactMap { ids.draw(at: Date(timeIntervalSince1970: 1_000_000 + Double($0) / 1000)) }
        #expect(Set(moment.map { $0.rawValue >> 16 }).count == 1)
        #expect(Set(moment).count > 95)
        let moments = (0..<100).compactMap { ids.draw(at: Date(timeIntervalSince1970: Double($0))) }
        #expect(Set(moments.map { $0.rawValue >> 16 }).count > 90)
        // The ids do not show the order in which they were drawn.
        #expect(zip(moments, moments.dropFirst()).count { $0.rawValue < $1.rawValue } < 80)
    }

    /// All ids of one moment may be in use, for instance after a day of many posts.
    @Test func eachAttemptDrawsFarFromTheOthers() {
        let ids = NotificationIDs(bits: 31)
        let now = Date(timeIntervalSince1970: 1_000_000)
        let attempts = (0..<NotificationPoster.maximumAttempts).compactMap { ids.draw(at: now, attempt: $0) }
        #expect(Set(attempts.map { $0.rawValue >> 16 }).count > 90)
    }

    @Test(arguments: [Date.distantPast, .distantFuture])
    func anExtremeClockDoesNotTrap(now: Date) {
        #expect(NotificationIDs(bits: 31).draw(at: now).map { $0.rawValue < 1 << 31 } ?? true)
    }
}
