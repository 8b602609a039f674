package import Foundation
package import PushCore

/// The state of one push, in the form for the notification's publisher.
package struct DeliveryEntry: Sendable, Hashable {
    /// The number by which the outbox identifies the device; not the registration id. Lists of
    /// pushes are in the order of these numbers.
    package let number: Int64
    /// The device's registration id; `nil` if the device was deleted.
    package let device: RegistrationID?
    /// The name of the device's user; `nil` if the user was deleted.
    package let username: Username?
    /// The queue of the push. Its name may contain a host that only operators and the device's
    /// owner may see.
    package let lane: Lane
    package let state: DeliveryStage
    package let attempts: Int
    /// When the push ended, or when the user fetched or read the notification. `nil` while the
    /// push is queued or being sent.
    package let updatedAt: Date?
    /// When the queued push is due; `nil` if it waits until its device connects, or if it is not
    /// queued.
    package let nextAttempt: Date?
    /// The provider's words for its last refusal, or the reason why the push waits or was
    /// cancelled.
    package let reason: String?

    package var platform: Platform { Platform(stored: self.lane.platform) }
}

/// How far a push has come. Fetches and reads are counted by user: if one device has fetched the
/// notification, this counts for all devices of its user.
package enum DeliveryStage: String, Sendable, CaseIterable {
    case queued, sending, accepted, fetched, read, expired, failed, cancelled
}
