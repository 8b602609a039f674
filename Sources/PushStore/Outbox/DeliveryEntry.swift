package import Foundation
package import PushCore

/// The state of one push, as the notification's publisher sees it.
package struct DeliveryEntry: Sendable, Hashable {
    /// The device's number in the outbox, which orders the entries.
    package let number: Int64
    /// `nil` if the device was deleted.
    package let device: RegistrationID?
    /// `nil` if the user was deleted.
    package let username: Username?
    /// The queue of the push. Its name may contain a host that only the device's owner and
    /// operators may see.
    package let lane: Lane
    package let state: DeliveryStage
    package let attempts: Int
    /// When the push ended, or when the user fetched or read the notification; `nil` before.
    package let updatedAt: Date?
    /// When a queued push is due; `nil` if the push waits until its device connects, or is not
    /// queued.
    package let nextAttempt: Date?
    /// The provider's words for the last refusal, or why the push waits or was cancelled.
    package let reason: String?

    package var platform: Platform { Platform(stored: self.lane.platform) }
}

/// How far a push has come. Receipts belong to the user: a fetch by one device counts for all
/// devices of the user.
package enum DeliveryStage: String, Sendable, CaseIterable {
    case queued, sending, accepted, fetched, read, expired, failed, cancelled
}
