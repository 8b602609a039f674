internal import Glibc

/// Binding a socket, and its options.
extension Listener {
    static func bind(_ socket: Int32, to address: SocketAddress) throws(SystemError) {
        switch address {
        case .tcp:
            var yes: Int32 = 1
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            self.sendAtOnce(socket)
        case .unix(let path):
            if !self.isOtherFile(path), self.isAbandoned(address) { unlink(path) }
        }
        try SystemError.check("bind to \(address)") { address.withName { Glibc.bind(socket, $0, $1) } }
    }

    /// Whether the path has a file that is not a socket. Such a file refuses connections, as an
    /// abandoned socket does, but must not be removed.
    package static func isOtherFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
    }

    /// Whether the address is a unix socket that refuses connections, because a killed process has
    /// left its file behind.
    private static func isAbandoned(_ address: SocketAddress) -> Bool {
        let probe = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { return false }
        defer { close(probe) }
        return address.withName { connect(probe, $0, $1) } == -1 && errno == ECONNREFUSED
    }

    /// Sets an option that accepted sockets inherit: so one call suffices for all connections.
    static func sendAtOnce(_ socket: Int32) {
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    static func option(_ name: Int32, of socket: Int32) throws(SystemError) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try SystemError.check("getsockopt") { getsockopt(socket, SOL_SOCKET, name, &value, &length) }
        return value
    }
}
