package import Foundation
package import PushCore

/// What servers that send from a lane tell each other of its pause.
package struct LanePause: Sendable, Hashable {
    package let lane: String
    /// `nil`: it is over, since the provider has answered.
    package let ongoing: Ongoing?
    /// Tells it from what was told of the lane before; 0 for what is not stored yet.
    package let number: Int64

    package struct Ongoing: Sendable, Hashable {
        package let cause: Pause.Cause
        /// In the provider's words.
        package let reason: String
        /// How long it has lasted.
        package let age: Duration
        /// How long no push goes from now on, not even a probe; less than zero if one may have gone.
        package let length: Duration
        /// How many rests have followed each other.
        package let rests: Int

        package init(cause: Pause.Cause, reason: String, age: Duration, length: Duration, rests: Int) {
            (self.cause, self.reason, self.age) = (cause, reason, age)
            (self.length, self.rests) = (length, rests)
        }

        package init(_ pause: Pause, rests: Int, now: Date) {
            self.init(
                cause: pause.cause,
                reason: pause.reason,
                age: .seconds(now.timeIntervalSince(pause.since)),
                length: .seconds(pause.until.timeIntervalSince(now)),
                rests: rests
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
