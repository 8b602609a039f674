package import CurlHTTP

/// A device's address at WNS: a URL that whoever holds our access token and it can push to.
///
/// Checked at registration and again before each push, by one parser: the access token goes wherever it points.
package struct WNSChannel: Sendable, Hashable {
    package let url: OutboundURL

    /// `nil` unless it is https on an allowed host and port, without user or fragment.
    package init?(_ text: String, allowedHosts: [HostPattern]) {
        guard let url = OutboundURL(text), url.isSecure, allowedHosts.contains(where: { $0.matches(url) }) else {
            return nil
        }
        self.url = url
    }
}
