package import Foundation
package import PushCore

/// The last code that was pushed to a handle for a user.
package struct Confirmation: Sendable {
    package let pushedAt: Date
    package let isUsed: Bool
    private let notification: Int64
    private let failures: Int64
    /// `nil` if the notification was deleted, and its code with it.
    private let seed: Int64?

    package init(pushedAt: Date, isUsed: Bool, notification: Int64, failures: Int64, seed: Int64?) {
        self.pushedAt = pushedAt
        self.isUsed = isUsed
        self.notification = notification
        self.failures = failures
        self.seed = seed
    }

    package func isExpired(_ now: Date) -> Bool { now >= self.pushedAt + HandleClaim.lifetime.timeInterval }

    /// Whether the code would register the handle.
    package func isGood(_ now: Date) -> Bool {
        !self.isUsed && !self.isExpired(now) && self.failures < HandleClaim.attempts && self.seed != nil
    }

    package func isJustPushed(_ now: Date) -> Bool { now < self.pushedAt + HandleClaim.interval.timeInterval }

    /// When the next code may be pushed. A push that was still to come was cancelled, and the next
    /// one takes its time.
    package func nextPush(_ now: Date) -> Date {
        self.pushedAt > now ? self.pushedAt : max(now, self.pushedAt + HandleClaim.interval.timeInterval)
    }

    package func code(_ key: Data, _ sealing: Sealing) -> ConfirmationCode? {
        self.seed.map { sealing.codes.code(of: self.notification, seed: $0, claim: key) }
    }
}
