internal import Bytes
internal import Glibc

/// The address of a database server: a host's name, a numeric address or a unix socket's folder,
/// with the port.
struct DatabaseHost: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case name
        case numeric
        case socket
    }

    private static let defaultPort: UInt16 = 5432

    let name: String
    let port: UInt16
    let kind: Kind

    /// `name` is decoded, and an IPv6 address has no brackets.
    init(name: String, port: String?) throws(AddressError) {
        self.port = try Self.port(port)
        self.name = name
        guard !name.hasPrefix("/") else {
            // A comma in the folder's path is refused, since libpq would end the host there.
            guard name.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: ",") }) else {
                throw AddressError("a socket's folder has a comma or an invisible character")
            }
            self.kind = .socket
            return
        }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, name, &v4) == 1 || inet_pton(AF_INET6, name, &v6) == 1 {
            self.kind = .numeric
            return
        }
        guard
            !name.isEmpty, name.utf8.count <= 253, name.utf8.first != UInt8(ascii: "-"),
            name.utf8.allSatisfy({ $0.isLetterOrDigit || "-._".utf8.contains($0) })
        else { throw AddressError("a host is neither a name, nor a numeric address, nor a folder") }
        self.kind = .name
    }

    /// Whether connections to this host stay on this machine.
    var isLocal: Bool {
        switch self.kind {
        case .socket: true
        case .numeric: self.name.hasPrefix("127.") || self.name == "::1"
        case .name: self.name == "localhost"
        }
    }

    var description: String {
        let name = self.name.contains(":") ? "[\(self.name)]" : AddressParts.encoded(self.name)
        return self.port == Self.defaultPort ? name : "\(name):\(self.port)"
    }

    private static func port(_ text: String?) throws(AddressError) -> UInt16 {
        guard let text else { return self.defaultPort }
        guard text.utf8.allSatisfy(\.isDigit), let port = UInt16(text), port > 0 else {
            throw AddressError("a port is not a number from 1 to 65535")
        }
        return port
    }
}
