internal import Glibc

/// The address of a server: `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/sealpost/http.sock`.
package enum SocketAddress: Sendable, Hashable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    /// Reads the configuration's notation; `nil` if the text is malformed. The host must be a
    /// numeric address.
    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count < Self.maximumPathLength else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard Self.isNumeric(host) else { return nil }
        self = .tcp(host: host, port: port)
    }

    /// Reads an address to listen on. A port alone, or `localhost` and a port, mean 127.0.0.1.
    /// No short form listens on all addresses of the machine, since the server may speak plain
    /// HTTP.
    package static func listening(at text: String) -> SocketAddress? {
        if UInt16(text) != nil { return SocketAddress("127.0.0.1:\(text)") }
        guard text.hasPrefix("localhost:") else { return SocketAddress(text) }
        return SocketAddress("127.0.0.1:\(text.dropFirst("localhost:".count))")
    }

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The size of `sun_path`, its final NUL included.
    static let maximumPathLength = 108

    private static func isNumeric(_ host: String) -> Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1
    }
}
