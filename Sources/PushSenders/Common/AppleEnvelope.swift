internal import Foundation
internal import PushCore

/// The form of a push on an Apple device, sent by APNs itself or by FCM.
package enum AppleEnvelope: Sendable, Hashable {
    /// A silent push: iOS decides when it wakes the app.
    case background
    /// A push with a placeholder, which the app's extension replaces before iOS shows it.
    case alert(AlertPlaceholder)
    /// A call: PushKit wakes the app, which must show the call at once. Only a sender for APNs can
    /// send it, not one for FCM.
    case voip

    /// The suffix of the app's topic.
    var topicSuffix: String { self == .voip ? ".voip" : "" }

    /// The value of `apns-push-type`, with which the payload must agree.
    var pushType: String {
        switch self {
        case .background: "background"
        case .alert: "alert"
        case .voip: "voip"
        }
    }

    /// The value of `apns-priority`. Apple rejects 10 for a background push, so the publisher's
    /// choice has no effect there.
    func priority(of push: Push) -> String {
        switch self {
        case .background: "5"
        case .alert: push.priority == .high ? "10" : "5"
        case .voip: "10"
        }
    }

    /// The value of `apns-expiration`. It is 0 for a call: a phone that is offline now must not
    /// ring later.
    func expiration(of push: Push) -> String {
        self == .voip ? "0" : String(max(0, Int(push.expiresAt.timeIntervalSince1970)))
    }

    /// The payload's member `aps`, as JSON. Apple allows nothing visible in a background push, so
    /// an alert has no effect there.
    func aps(of push: Push) -> String {
        switch self {
        case .background: "{\"content-available\":1}"
        case .alert(let placeholder): placeholder.aps(push.alert, unread: push.unread)
        case .voip: "{}"
        }
    }
}
