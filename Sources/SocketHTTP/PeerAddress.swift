internal import Glibc

/// Who is at the other end of a connection, as far as the kernel knows.
package struct PeerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The numeric address, an IPv4 one always in its own form; `unix` for a local socket.
    package let description: String

    package static let unix = PeerAddress("unix")

    package init(_ description: String) {
        self.description = description
    }

    /// Asks the kernel; a socket that has just been reset has no peer any more, and counts as `unknown`.
    init(of socket: Int32) {
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getpeername(socket, $0.baseAddress, &length) }
        }
        switch (result, Int32(name.sin6_family)) {
        case (0, AF_UNIX):
            self = .unix
        case (0, AF_INET):
            // The address stands where IPv6 has its flow label.
            self.init(Self.text(AF_INET, &name.sin6_flowinfo))
        case (0, AF_INET6):
            let text = Self.text(AF_INET6, &name.sin6_addr)
            self.init(text.hasPrefix("::ffff:") && text.contains(".") ? String(text.dropFirst(7)) : text)
        default:
            self.init("unknown")
        }
    }

    private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
        String(unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                guard
                    let start = characters.baseAddress,
                    inet_ntop(family, address, start, socklen_t(characters.count)) != nil
                else { return 0 }
                return strlen(start)
            }
        }
    }
}
