internal import Bytes

/// An absolute `http` or `https` URL, kept byte for byte as written.
///
/// The grammar allows less than RFC 3986, so that two parsers cannot find different hosts in the
/// same URL: no user, no fragment, no backslash, nothing outside printable ASCII, a host of
/// letters, digits, `-` and `.` or an address in brackets.
package struct OutboundURL: Sendable, Hashable {
    package static let maximumLength = 2048

    package let text: String
    package let isSecure: Bool
    /// The host in lower case; an IPv6 address keeps its brackets.
    package let host: String
    package let port: UInt16

    /// Reads a URL; `nil` if the text is not a URL of this grammar.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let secure = text.hasPrefix("https://")
        guard secure || text.hasPrefix("http://") else { return nil }
        let rest = text.utf8.dropFirst(secure ? 8 : 7)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let target = rest[authority.endIndex...]
        guard
            target.allSatisfy(Self.isTargetByte),
            let (host, port) = Self.split(authority, defaultPort: secure ? 443 : 80)
        else { return nil }
        self.text = text
        self.isSecure = secure
        self.host = host
        self.port = port
    }

    /// Appends `path`, which starts with a slash; `nil` if the result is not a valid URL.
    package func appending(_ path: String) -> OutboundURL? {
        guard
            path.utf8.first == UInt8(ascii: "/"), path.utf8.allSatisfy(Self.isTargetByte),
            self.text.utf8.count + path.utf8.count <= Self.maximumLength
        else { return nil }
        // The path does not change the host, so the host need not be parsed again.
        return OutboundURL(
            self.text.utf8.last == UInt8(ascii: "/") ? self.text + path.dropFirst() : self.text + path,
            at: self
        )
    }

    private init(_ text: String, at place: OutboundURL) {
        self.text = text
        self.isSecure = place.isSecure
        self.host = place.host
        self.port = place.port
    }

    private static func split(_ authority: Substring.UTF8View, defaultPort: UInt16) -> (String, UInt16)? {
        let host: Substring.UTF8View
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[...end]
            guard host.count >= 4, host.dropFirst().dropLast().allSatisfy(Self.isAddressByte) else { return nil }
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty, host.count <= 253, host.allSatisfy(Self.isHostByte) else { return nil }
            guard host.first != UInt8(ascii: "."), host.first != UInt8(ascii: "-") else { return nil }
        }
        let name = String(Substring(host)).lowercased()
        let rest = authority[host.endIndex...]
        guard let colon = rest.first else { return (name, defaultPort) }
        let digits = rest.dropFirst()
        guard
            colon == UInt8(ascii: ":"),
            digits.allSatisfy(\.isDigit),
            let port = UInt16(String(Substring(digits))), port > 0
        else { return nil }
        return (name, port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "-.".utf8.contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        byte.isHexDigit || ":.".utf8.contains(byte)
    }

    private static func isTargetByte(_ byte: UInt8) -> Bool {
        byte.isVisible && !"#\\\"<>^`{|}".utf8.contains(byte)
    }
}
