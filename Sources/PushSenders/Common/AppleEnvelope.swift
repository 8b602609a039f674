internal import PushCore

/// The form of a push on an Apple device, sent by APNs itself or by FCM.
package enum AppleEnvelope: Sendable, Hashable {
    /// Silent: iOS decides when to wake the app.
    case background
    /// A placeholder that the app's extension replaces before it is shown.
    case alert(AlertPlaceholder)

    /// The value of `apns-push-type`, with which the payload must agree.
    var pushType: String {
        switch self {
        case .background: "background"
        case .alert: "alert"
        }
    }

    /// The value of `apns-priority`. Apple rejects 10 for a background push, so the publisher's
    /// choice has no effect there.
    func priority(of push: Push) -> String {
        switch self {
        case .background: "5"
        case .alert: push.priority == .high ? "10" : "5"
        }
    }

    /// The payload's member `aps`, as JSON. Apple allows nothing visible in a background push, so
    /// an alert has no effect there.
    func aps(of push: Push) -> String {
        switch self {
        case .background: "{\"content-available\":1}"
        case .alert(let placeholder): placeholder.aps(push.alert)
        }
    }
}
