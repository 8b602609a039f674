package import Foundation
package import PushCore

/// Where one push stands, as its sender sees it.
package struct DeliveryEntry: Sendable, Hashable {
    /// The outbox's name for the device: entries are in this order.
    package let number: Int64
    /// `nil` for a device that is gone.
    package let device: RegistrationID?
    /// `nil` for a user who is gone.
    package let username: Username?
    package let platform: String
    package let state: DeliveryStage
    package let attempts: Int
    /// When it came to its end, or the user fetched or read; `nil` before.
    package let updatedAt: Date?
    /// The provider's words for the last refusal, or why it waits or was cancelled.
    package let reason: String?

    package init(
        number: Int64,
        device: RegistrationID?,
        username: Username?,
        platform: String,
        state: DeliveryStage,
        attempts: Int,
        updatedAt: Date?,
        reason: String?
    ) {
        self.number = number
        self.device = device
        self.username = username
        self.platform = platform
        self.state = state
        self.attempts = attempts
        self.updatedAt = updatedAt
        self.reason = reason
    }
}

/// How far a push has come. The receipt is the user's: a fetch by one device counts for each.
package enum DeliveryStage: String, Sendable, CaseIterable {
    case queued, sending, accepted, fetched, read, expired, failed, cancelled
}
