package import Foundation
package import PushCore

/// The pause of a lane (the queue of pushes to one provider), in the form that servers report to
/// each other.
package struct LanePause: Sendable, Hashable {
    package let lane: String
    /// The running pause; `nil` if it has ended, because the provider has answered.
    package let ongoing: Ongoing?
    /// A number that distinguishes this report from earlier reports about the lane; 0 before the
    /// report is stored.
    package let number: Int64

    package struct Ongoing: Sendable, Hashable {
        package let cause: Pause.Cause
        /// The reason for the pause, in the provider's words.
        package let reason: String
        /// How long the pause has lasted.
        package let age: Duration
        /// How long, from now on, no server sends a push of the lane, not even a probe (a push
        /// that tests the provider). Negative if a probe is already allowed.
        package let length: Duration
        /// The number of delays in this pause so far: each failed probe begins another.
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
