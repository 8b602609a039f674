/// A proxy that opens a tunnel to the host of each call (CONNECT, RFC 9110 section 9.3.6).
///
/// The proxy resolves the host's name; the tunnel carries TLS from end to end.
package struct OutboundProxy: Sendable, Hashable {
    /// `http://` or `https://`, a host and a port.
    package let url: OutboundURL
    let credentials: Credentials?

    /// The name and password that the client sends with each CONNECT by the scheme Basic (RFC
    /// 7617).
    struct Credentials: Sendable, Hashable {
        let name: String
        let password: String
    }

    /// `credentials` is a name, a colon and a password. Returns `nil` if the URL has a path, or if
    /// the credentials lack a colon or contain an invisible character.
    package init?(_ url: OutboundURL, credentials: String? = nil) {
        guard ["", "/"].contains(url.text.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" && $0 != "?" }) else {
            return nil
        }
        self.url = url
        guard let credentials else {
            self.credentials = nil
            return
        }
        let parts = credentials.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !credentials.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return nil
        }
        self.credentials = Credentials(name: String(parts[0]), password: String(parts[1]))
    }
}

extension OutboundProxy: CustomStringConvertible, CustomReflectable {
    /// The URL alone: neither this text nor a dump contains the credentials.
    package var description: String { self.url.text }

    package var customMirror: Mirror { Mirror(self, children: ["url": self.url.text]) }
}
