import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct RateLimitTests {
    @Test func eachKeyHasItsOwnLimitWithinTheWindow() {
        let limit = RateLimit(window: 1)
        limit.setLimit(2)
        let admitted = [("a", 0), ("a", 0.5), ("a", 0.9), ("b", 0.9), ("a", 1), ("a", 1.2), ("a", 1.5), ("a", 1.6)].map
        {
            key,
            time in limit.admits(key, now: Tokens.now + time)
        }
        #expect(admitted == [true, true, false, true, true, false, true, false])
        limit.setLimit(nil)
        #expect(limit.admits("a", now: Tokens.now))
    }
}
