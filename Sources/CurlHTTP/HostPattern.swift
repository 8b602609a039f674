internal import Bytes

/// A pattern of hosts that may be called: `push.example.com`, `*.notify.windows.com`, or such a
/// name with a port.
///
/// A star stands for at least one label. A pattern without a port matches only HTTPS's default
/// port.
package struct HostPattern: Sendable, Hashable {
    /// Whether the pattern has a star, so that the author of a URL can choose among many hosts.
    package let isWildcard: Bool
    private let suffix: String
    private let port: UInt16

    /// Every public host name, on HTTPS's default port. `init` never makes this pattern from a
    /// text, so a caller must name this constant to allow all hosts.
    package static let anyPublic = HostPattern(anyPublic: ())

    /// The host without its star, and the port unless it is HTTPS's default port; for `anyPublic`
    /// a star.
    package var name: String {
        if self == .anyPublic { return "*" }
        let host = self.isWildcard ? String(self.suffix.dropFirst()) : self.suffix
        return self.port == 443 ? host : "\(host):\(self.port)"
    }

    /// Reads a pattern; `nil` if the text is not a host pattern.
    package init?(_ text: String) {
        self.isWildcard = text.hasPrefix("*.")
        let name = self.isWildcard ? String(text.dropFirst(2)) : text
        guard
            let url = OutboundURL("https://" + name), url.text.utf8.allSatisfy({ $0 != UInt8(ascii: "?") }),
            url.text.utf8.count(where: { $0 == UInt8(ascii: "/") }) == 2,
            // A star before an address or before a whole top-level domain is refused as a mistake.
            !self.isWildcard || (!url.host.hasPrefix("[") && url.host.contains("."))
        else { return nil }
        self.suffix = self.isWildcard ? "." + url.host : url.host
        self.port = url.port
    }

    private init(anyPublic: Void) {
        self.isWildcard = true
        self.suffix = ""
        self.port = 443
    }

    package func matches(_ url: OutboundURL) -> Bool {
        guard url.port == self.port else { return false }
        // A host name means the same host with and without a trailing dot.
        let host = url.host.hasSuffix(".") ? url.host.dropLast() : url.host[...]
        if self == .anyPublic { return Self.isPublicName(host) }
        return self.isWildcard ? host.count > self.suffix.count && host.hasSuffix(self.suffix) : host == self.suffix
    }

    /// Whether a host name may exist on the Internet: it has two labels or more, and its last
    /// label is not reserved for other uses (RFC 6761 and RFC 6762).
    package static func isPublicName(_ host: some StringProtocol) -> Bool {
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, !labels.contains(where: \.isEmpty) else { return false }
        return !["localhost", "local", "test", "invalid", "example", "internal"].contains(last)
            && !last.utf8.allSatisfy(\.isDigit) && !host.contains(where: { "[]:".contains($0) })
    }
}
