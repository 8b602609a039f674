internal import Glibc
internal import Reactor

/// A listening socket on a free port of the loopback address. The test keeps it open, as a
/// supervisor keeps sockets open for the processes that it starts.
package final class HeldSocket: Sendable {
    package let descriptor: Int32
    package let port: Int

    package init() throws {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check("socket") { socket(AF_INET, type, 0) }
        do {
            try SystemError.check("bind") { SocketAddress.loopback(0).withName { bind(descriptor, $0, $1) } }
            try SystemError.check("listen") { listen(descriptor, 1024) }
            guard case .tcp(_, let port) = try SocketAddress(boundBy: descriptor) else {
                preconditionFailure("a socket of TCP is bound to an address of TCP")
            }
            (self.descriptor, self.port) = (descriptor, Int(port))
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(self.descriptor)
    }
}
