package import CurlHTTP
package import PushCore

/// The settings of the Web Push sender.
package struct WebPushSettings: Sendable {
    /// The push services of Google, Mozilla, Apple and Microsoft. Chromium without Google's keys
    /// subscribes at Google's second host.
    package static let publicHosts = [
        "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com", "*.push.services.mozilla.com",
        "*.push.apple.com",
        "*.notify.windows.com",
    ]

    package var key: VAPIDKey
    /// The operator's contact for push services: `mailto:` or an https URL.
    package var subject: String
    /// The hosts that a browser's endpoint may have; see `WebPushHandleRule`. The pushes to each
    /// host are in a queue (lane) of their own.
    package var allowedHosts: [String]
    /// The addresses that the names of the allowed hosts may resolve to.
    package var addresses: AddressPolicy
    /// The alerts that messages may carry. The longest alert determines the length to which every
    /// message is padded.
    package var alerts: AlertPolicy
    /// The notification that Safari shows if the page's worker does not replace it; `nil` for no
    /// such notification.
    package var placeholder: WebPushPlaceholder?
    package var connection: ConnectionSettings

    package init(
        key: VAPIDKey,
        subject: String,
        allowedHosts: [String] = WebPushSettings.publicHosts,
        addresses: AddressPolicy = .globalOnly,
        alerts: AlertPolicy = AlertPolicy(),
        placeholder: WebPushPlaceholder? = nil,
        // Several connections are needed, because without HTTP/2, which push services do not
        // guarantee, a connection carries only one push at a time.
        connection: ConnectionSettings = ConnectionSettings(connections: 4)
    ) {
        self.key = key
        self.subject = subject
        self.allowedHosts = allowedHosts
        self.addresses = addresses
        self.alerts = alerts
        self.placeholder = placeholder
        self.connection = connection
    }
}
