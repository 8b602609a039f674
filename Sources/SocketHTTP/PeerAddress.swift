internal import Glibc

/// The address of the other end of a connection, as far as it is known.
package enum PeerAddress: Sendable, Hashable, CustomStringConvertible {
    case ip(IPAddress)
    /// A local socket.
    case unix
    /// A socket that was reset before its address was asked for, or a client that a proxy does not name.
    case unknown

    /// Asks the kernel.
    init(of socket: Int32) {
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getpeername(socket, $0.baseAddress, &length) }
        }
        switch (result, Int32(name.sin6_family)) {
        case (0, AF_UNIX): self = .unix
        // The address stands where IPv6 has its flow label.
        case (0, AF_INET): self = .ip(IPAddress(in_addr(s_addr: name.sin6_flowinfo)))
        case (0, AF_INET6): self = .ip(IPAddress(name.sin6_addr))
        default: self = .unknown
        }
    }

    /// The numeric address, an IPv4 one always in its own form, or `unix` or `unknown`.
    package var description: String {
        switch self {
        case .ip(let address): address.description
        case .unix: "unix"
        case .unknown: "unknown"
        }
    }

    /// The address for limits: of IPv6 the /64, since one host may choose any address within it.
    package var origin: PeerAddress {
        guard case .ip(let address) = self, !address.isIPv4 else { return self }
        return .ip(address.network(bits: 64))
    }
}
