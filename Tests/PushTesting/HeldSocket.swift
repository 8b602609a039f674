internal import Foundation

/// A listening socket on a free port of the loopback address, held as a supervisor holds it for the processes it starts.
package final class HeldSocket: Sendable {
    package let descriptor: Int32
    package let port: Int

    package init() throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &name) { [descriptor] bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { name in
                bind(descriptor, name.baseAddress, length) == 0 && listen(descriptor, 1024) == 0
                    && getsockname(descriptor, name.baseAddress, &length) == 0
            }
        }
        self.port = Int(UInt16(bigEndian: name.sin_port))
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit {
        close(self.descriptor)
    }
}
