package import CurlHTTP

/// What the Web Push sender needs to know.
package struct WebPushSettings: Sendable {
    /// The push services of Google, Mozilla, Apple and Microsoft.
    package static let publicHosts = [
        "fcm.googleapis.com", "updates.push.services.mozilla.com", "*.push.services.mozilla.com", "*.push.apple.com",
        "*.notify.windows.com",
    ]

    package var key: VAPIDKey
    /// How a push service reaches the operator: `mailto:` or an https URL.
    package var subject: String
    /// Hosts that a browser's endpoint may be at; see `HostPattern`. Each is a lane of its own.
    package var allowedHosts: [String]
    /// Where those names may lead.
    package var addresses: AddressPolicy
    package var connection: ConnectionSettings

    package init(
        key: VAPIDKey,
        subject: String,
        allowedHosts: [String] = WebPushSettings.publicHosts,
        addresses: AddressPolicy = .globalOnly,
        // HTTP/2 is not promised, so that each connection may carry one push at a time.
        connection: ConnectionSettings = ConnectionSettings(connections: 4)
    ) {
        self.key = key
        self.subject = subject
        self.allowedHosts = allowedHosts
        self.addresses = addresses
        self.connection = connection
    }
}
