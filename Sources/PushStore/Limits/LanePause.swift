package import Foundation
package import PushCore

/// A lane's pause, as servers that send from the lane report it to each other.
package struct LanePause: Sendable, Hashable {
    package let lane: String
    /// `nil`: the pause has ended, since the provider has answered.
    package let ongoing: Ongoing?
    /// Distinguishes the report from earlier ones of the lane; 0 before it is stored.
    package let number: Int64

    package struct Ongoing: Sendable, Hashable {
        package let cause: Pause.Cause
        /// The reason in the provider's words.
        package let reason: String
        /// How long the pause has lasted.
        package let age: Duration
        /// How long from now on no server sends a push, not even a probe; negative if a probe is
        /// allowed already.
        package let length: Duration
        /// How many delays in a row the pause has had so far.
        package let delayCount: Int

        package init(cause: Pause.Cause, reason: String, age: Duration, length: Duration, delayCount: Int) {
            (self.cause, self.reason, self.age) = (cause, reason, age)
            (self.length, self.delayCount) = (length, delayCount)
        }

        package init(_ pause: Pause, delayCount: Int, now: Date) {
            self.init(
                cause: pause.cause,
                reason: pause.reason,
                age: .seconds(now.timeIntervalSince(pause.since)),
                length: .seconds(pause.until.timeIntervalSince(now)),
                delayCount: delayCount
            )
        }

        package func pause(now: Date) -> Pause {
            Pause(
                self.cause,
                reason: self.reason,
                since: now - self.age.timeInterval,
                until: now + self.length.timeInterval
            )
        }
    }

    package init(lane: String, _ ongoing: Ongoing?, number: Int64 = 0) {
        (self.lane, self.ongoing, self.number) = (lane, ongoing, number)
    }
}
