package import Foundation

/// An event: something has happened to a push, to a notification at one of its recipients, or to a
/// device.
package struct PushEvent: Sendable, Hashable {
    /// The kind of an event. The raw value is its name in the configuration and in the API.
    package enum Kind: String, Sendable, CaseIterable {
        /// The provider has accepted a push.
        case accepted
        /// A push was refused for good.
        case failed
        /// A push has not been accepted before its notification expired.
        case expired
        /// A push was cancelled, because it is no longer needed or its device was deleted.
        case cancelled
        /// A user has fetched a notification for the first time.
        case collected
        /// A registration has ended, and its id is no longer valid.
        case retired
    }

    /// The number of the event. Numbers rise in the order in which events are stored, and no
    /// number is assigned twice. A start of the server may leave a gap between numbers.
    package let number: Int64
    package let at: Date
    package let kind: Kind
    /// The notification; `nil` for `retired`.
    package let notification: NotificationID?
    /// The device's registration; `nil` for `collected`, and if the registration was deleted
    /// since.
    package let device: RegistrationID?
    /// The user; `nil` if the user was deleted since.
    package let user: Username?
    /// The name of the device's sender; `nil` for `collected`.
    package let platform: String?
    /// The provider's words for a refusal, or the reason why a push was cancelled or a device was
    /// retired.
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
