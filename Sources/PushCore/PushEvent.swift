package import Foundation

/// The outcome of a push, of a notification at one of its recipients, or of a device: one entry of
/// the events.
package struct PushEvent: Sendable, Hashable {
    /// The raw value is the word of the configuration and of the API.
    package enum Kind: String, Sendable, CaseIterable {
        /// The provider has accepted a push.
        case accepted
        /// A push was refused for good.
        case failed
        /// A push has not been accepted before its notification expired.
        case expired
        /// A push is no longer needed, or its device was deleted.
        case cancelled
        /// A user has fetched a notification for the first time.
        case collected
        /// A registration has ended, and its id is no longer valid.
        case retired
    }

    /// Rises in the order in which events are stored, and is never assigned twice. A server's
    /// start may leave a gap.
    package let number: Int64
    package let at: Date
    package let kind: Kind
    /// `nil` for `retired`.
    package let notification: NotificationID?
    /// `nil` for `collected`, and if the registration was deleted since.
    package let device: RegistrationID?
    /// `nil` if the user was deleted since.
    package let user: Username?
    /// The name of the device's sender; `nil` for `collected`.
    package let platform: String?
    /// The provider's words for a refusal, or why a push was cancelled or a device retired.
    package let reason: String?

    package init(
        number: Int64,
        at: Date,
        kind: Kind,
        notification: NotificationID?,
        device: RegistrationID?,
        user: Username?,
        platform: String?,
        reason: String?
    ) {
        self.number = number
        self.at = at
        self.kind = kind
        self.notification = notification
        self.device = device
        self.user = user
        self.platform = platform
        self.reason = reason
    }
}
