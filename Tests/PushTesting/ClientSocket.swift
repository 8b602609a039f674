internal import Glibc
package import Reactor

/// A client's socket whose calls block.
package enum ClientSocket {
    /// Connects to a server on this machine. The caller closes the returned descriptor.
    ///
    /// TCP always connects to 127.0.0.1. `prepare` may set options of the socket before it
    /// connects.
    package static func connect(
        to address: SocketAddress,
        prepare: (Int32) throws -> Void = { _ in }
    ) throws -> Int32 {
        let (family, name) =
            switch address {
            case .tcp(_, let port): (AF_INET, SocketAddress.loopback(port))
            case .unix: (AF_UNIX, address)
            }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check("socket") { socket(family, type, 0) }
        do {
            try prepare(descriptor)
            try SystemError.check("connect to \(name)") { name.withName { Glibc.connect(descriptor, $0, $1) } }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }
}

extension SocketAddress {
    /// Returns the loopback address with this port. The port 0 stands for any free port.
    package static func loopback(_ port: UInt16) -> SocketAddress {
        .tcp(host: "127.0.0.1", port: port)
    }
}
