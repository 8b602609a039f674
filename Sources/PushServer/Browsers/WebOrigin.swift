internal import Bytes
internal import SocketHTTP

/// The origin of a page, as browsers name it in `Origin`: scheme, host and port (RFC 6454 §6.2).
///
/// The scheme may be an app's, such as `capacitor` or `chrome-extension`. `null` names no origin,
/// and is refused.
package struct WebOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The scheme in lower case.
    let scheme: String
    /// The host in lower case; an IPv6 address has its brackets.
    package let host: String
    /// The origin in lower case. It has the port only if the port is not the scheme's default.
    package let description: String

    /// Reads a scheme, a host and an optional port; `nil` if a part is malformed, or if text such
    /// as a path follows. The host must be ASCII: browsers send host names with other characters
    /// in their `xn--` form.
    package init?(_ text: String) {
        guard let scheme = Self.scheme(of: text.utf8) else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count + "://".utf8.count)
        guard let (host, port) = Self.parts(of: rest), let host = Self.canonical(host) else { return nil }
        var number = ""
        if let port {
            guard let value = Self.number(port) else { return nil }
            if value != Self.usualPort(scheme) { number = ":\(value)" }
        }
        self.scheme = scheme
        self.host = host
        self.description = "\(scheme)://\(host)\(number)"
    }

    /// Whether a page of this origin reaches the browser unchanged, because the page comes over
    /// TLS, from the browser's own machine, or from an app.
    package var isProtected: Bool {
        guard self.scheme == HTTPScheme.http.rawValue else { return true }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || host.hasPrefix("127.") && IPAddress(host) != nil
    }

    // MARK: - Private

    /// The scheme before `://` (RFC 3986 §3.1).
    private static func scheme(of text: String.UTF8View) -> String? {
        guard let end = text.firstIndex(of: UInt8(ascii: ":")), text[end...].starts(with: "://".utf8) else {
            return nil
        }
        let scheme = text[..<end]
        guard
            scheme.first?.isLetter == true,
            scheme.allSatisfy({ $0.isLetterOrDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return String(decoding: scheme, as: UTF8.self).lowercased()
    }

    /// The host, with its brackets if it has any, and the port after the colon.
    private static func parts(of text: Substring.UTF8View) -> (host: Substring.UTF8View, port: Substring.UTF8View?)? {
        var end = text.startIndex
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        }
        let rest = text[end...]
        guard let colon = rest.first else { return (text[..<end], nil) }
        return colon == UInt8(ascii: ":") ? (text[..<end], rest.dropFirst()) : nil
    }

    /// The canonical form of a host: a name in lower case, or an address as `IPAddress` writes it.
    /// `nil` if the host is malformed.
    private static func canonical(_ host: Substring.UTF8View) -> String? {
        let text = String(decoding: host, as: UTF8.self).lowercased()
        if host.first == UInt8(ascii: "[") {
            // Brackets must not contain an IPv4 address, nor an IPv4 address that is mapped into
            // IPv6.
            let address = IPAddress(text.dropFirst().dropLast())?.description
            return address.flatMap { $0.contains(":") ? "[\($0)]" : nil }
        }
        guard !text.isEmpty, host.allSatisfy({ $0.isLetterOrDigit || "-._".utf8.contains($0) }) else { return nil }
        // Browsers treat a name whose last label is a number as an IPv4 address, and send this
        // address in its canonical form only.
        let isNumber = text.split(separator: ".").last?.utf8.allSatisfy(\.isDigit) == true
        return !isNumber || IPAddress(text)?.description == text ? text : nil
    }

    private static func number(_ port: Substring.UTF8View) -> Int? {
        guard (1...5).contains(port.count), port.allSatisfy(\.isDigit) else { return nil }
        let value = port.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return (1...65_535).contains(value) ? value : nil
    }

    private static func usualPort(_ scheme: String) -> Int? {
        switch HTTPScheme(scheme) {
        case .http: 80
        case .https: 443
        case nil: nil
        }
    }
}
