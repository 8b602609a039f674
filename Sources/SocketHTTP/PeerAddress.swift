internal import Glibc

/// The address of the other end of a connection, as far as the server knows it.
package enum PeerAddress: Sendable, Hashable, CustomStringConvertible {
    case ip(IPAddress)
    /// A local (unix) socket, whose process the server does not identify.
    case unix
    /// A process at a local socket, identified by its user. The server gets the user from the
    /// kernel, and decides by the user whether to admit the process.
    case process(user: UInt32)
    /// An unknown address: the socket was reset before the server read its address, or a proxy
    /// does not name its client.
    case unknown

    /// Asks the kernel for the address of the socket's other end.
    init(of socket: Int32) {
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getpeername(socket, $0.baseAddress, &length) }
        }
        switch (result, Int32(name.sin6_family)) {
        case (0, AF_UNIX): self = .unix
        // For IPv4, the kernel writes the address where this structure has IPv6's flow label.
        case (0, AF_INET): self = .ip(IPAddress(in_addr(s_addr: name.sin6_flowinfo)))
        case (0, AF_INET6): self = .ip(IPAddress(name.sin6_addr))
        default: self = .unknown
        }
    }

    /// The process at the other end of a unix socket, by its effective user at the time of the
    /// connection (`SO_PEERCRED`, unix(7)); `nil` for another socket.
    package init?(processAt socket: Int32) {
        guard case .unix = PeerAddress(of: socket) else { return nil }
        // `struct ucred`, which Swift's Glibc lacks: process, user and group.
        var credentials: (Int32, UInt32, UInt32) = (0, .max, .max)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard
            getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
            Int(length) == MemoryLayout.size(ofValue: credentials)
        else { return nil }
        self = .process(user: credentials.1)
    }

    /// The address as text: an IPv6 address, an IPv4 address in its own notation, `unix`, `local`
    /// for a process, or `unknown`.
    package var description: String {
        switch self {
        case .ip(let address): address.description
        case .unix: "unix"
        case .process: "local"
        case .unknown: "unknown"
        }
    }

    /// The address that identifies the client for limits. For IPv6 it is the network of 64 bits,
    /// since one host may choose any address in its network.
    package var origin: PeerAddress {
        guard case .ip(let address) = self, !address.isIPv4 else { return self }
        return .ip(address.network(bits: 64))
    }
}
