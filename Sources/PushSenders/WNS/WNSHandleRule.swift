package import CurlHTTP
package import PushCore

/// A device's address at WNS: a channel, which is a URL. A push to the channel carries the
/// server's access token.
///
/// The same parser checks the channel at registration and again before each push, because the
/// sender sends the access token to the channel's host.
package struct WNSHandleRule: HandleRule {
    let hosts: [HostPattern]
    private let expected: String

    /// `allowedHosts` are the hosts that a device may name; see `HostPattern`.
    package init(allowedHosts: [String]) throws(SenderSettingsError) {
        var hosts: [HostPattern] = []
        for text in allowedHosts {
            guard let host = HostPattern(text) else {
                throw .badValue(field: "allowedHosts", expected: "a list of hosts, such as *.notify.windows.com")
            }
            hosts.append(host)
        }
        self.hosts = hosts
        self.expected = "it must be a channel, https at \(allowedHosts.joined(separator: ", "))"
    }

    /// Nobody can guess a channel, because its path contains a token of WNS.
    package var isGuessable: Bool { false }

    /// The channel's URL: it must be https, on an allowed host and port, without user or fragment.
    package func address(_ handle: String) throws(HandleFlaw) -> OutboundURL {
        guard let url = OutboundURL(handle), url.isSecure, self.hosts.contains(where: { $0.matches(url) }) else {
            throw .notAllowed(self.expected)
        }
        return url
    }
}
