internal import CEpoll
internal import Glibc
internal import Synchronization

/// A listening socket, bound and ready before any loop serves it, so that its port is known and no client is refused.
package final class Listener: Sendable {
    let socket: Int32
    /// Where it really listens: port 0 has become a number.
    package let address: SocketAddress
    /// Whether other processes have the socket too, of which one may come next.
    private let isShared: Bool
    /// A mutex, because whoever stops the listener is on no loop.
    private let stopping = Mutex(Stopping())

    private struct Stopping {
        var isStopped = false
        /// Ends the wait of each `accept` that runs.
        var wakes: [@Sendable () -> Void] = []
    }

    /// Binds and listens. A unix socket that nobody listens on any more is replaced.
    ///
    /// Throws `SystemError`, with the address in its text, if the address is taken or not ours.
    package init(_ address: SocketAddress, backlog: Int32 = 4096) throws(SystemError) {
        let family: Int32
        switch address {
        case .tcp(let host, _): family = host.contains(":") ? AF_INET6 : AF_INET
        case .unix: family = AF_UNIX
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        self.isShared = false
        self.socket = try SystemError.check("socket") { Glibc.socket(family, type, 0) }
        do {
            try Self.bind(self.socket, to: address)
            try SystemError.check("listen on \(address)") { [socket] in listen(socket, backlog) }
            self.address = try SocketAddress(boundBy: self.socket)
        } catch {
            close(self.socket)
            throw error
        }
    }

    /// Takes over a socket on which whoever started this process listens, and goes on listening after its end.
    ///
    /// Makes it non-blocking and close-on-exec. Throws `SystemError` if it is not a listening stream socket, and leaves
    /// it alone then.
    package init(adopting socket: Int32) throws(SystemError) {
        let isStream = try Self.option(SO_TYPE, of: socket) == Int32(SOCK_STREAM.rawValue)
        let listens = try Self.option(SO_ACCEPTCONN, of: socket) == 1
        guard isStream, listens else {
            throw SystemError(call: "adopt descriptor \(socket)", code: EINVAL)
        }
        self.address = try SocketAddress(boundBy: socket)
        try SystemError.check("fcntl") { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK) }
        try SystemError.check("fcntl") { fcntl(socket, F_SETFD, FD_CLOEXEC) }
        if case .tcp = self.address { Self.sendAtOnce(socket) }
        self.isShared = true
        self.socket = socket
    }

    deinit {
        close(self.socket)
    }

    /// Lets every `accept` take what already waits to be taken, and end; later ones do the same. On an adopted socket
    /// they end at once, and what waits is left to the process that comes next.
    ///
    /// Other than cancelling its task, this leaves the tasks alone that the accepting one has started.
    package func stop() {
        let wakes = self.stopping.withLock { stopping in
            stopping.isStopped = true
            return stopping.wakes
        }
        for wake in wakes { wake() }
    }

    /// Takes connections on `loop` until `stop()` or until the task is cancelled; each is a non-blocking descriptor,
    /// the caller's to own.
    ///
    /// At the descriptor limit, and after other passing failures, it rests for a moment and goes on. Ends with the
    /// listening socket still open; dropping the listener closes it.
    package func accept(on loop: EventLoop, _ connection: (Int32) -> Void) async {
        // A duplicate, because a descriptor closes what it owns.
        guard
            let duplicate = try? SystemError.check("dup", { dup(self.socket) }),
            let descriptor = try? Descriptor(duplicate, on: loop)
        else { return }
        defer { descriptor.close() }
        self.wakeWhenStopped(descriptor)
        await descriptor.cancellingWaits {
            while !Task.isCancelled, !(self.isShared && self.isStopped) {
                let accepted = cepoll_accept(duplicate)
                if accepted >= 0 {
                    connection(accepted)
                    continue
                }
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EAGAIN:
                    if self.isStopped { return }
                    // Thrown only for cancellation and `stop()`, which the next turn sees.
                    try? await descriptor.waitToRead(until: .now + .seconds(3600))
                default:
                    try? await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }

    // MARK: - Private

    private var isStopped: Bool { self.stopping.withLock { $0.isStopped } }

    private func wakeWhenStopped(_ descriptor: Descriptor) {
        let loop = descriptor.loop
        // Safe: the reference is used on the loop only, where the descriptor lives.
        nonisolated(unsafe) let descriptor = descriptor
        self.stopping.withLock { stopping in
            stopping.wakes.append { loop.execute { descriptor.cancelWaits() } }
        }
    }

    private static func bind(_ socket: Int32, to address: SocketAddress) throws(SystemError) {
        let call = "bind to \(address)"
        switch address {
        case .tcp(let host, let port):
            var yes: Int32 = 1
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            self.sendAtOnce(socket)
            if host.contains(":") {
                var name = sockaddr_in6()
                name.sin6_family = sa_family_t(AF_INET6)
                name.sin6_port = port.bigEndian
                inet_pton(AF_INET6, host, &name.sin6_addr)
                try self.bind(socket, &name, call)
            } else {
                var name = sockaddr_in()
                name.sin_family = sa_family_t(AF_INET)
                name.sin_port = port.bigEndian
                inet_pton(AF_INET, host, &name.sin_addr)
                try self.bind(socket, &name, call)
            }
        case .unix(let path):
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            if self.isAbandoned(&name) { unlink(path) }
            try self.bind(socket, &name, call)
        }
    }

    private static func bind<Name>(_ socket: Int32, _ name: inout Name, _ call: String) throws(SystemError) {
        let result = withUnsafeBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                Glibc.bind(socket, $0.baseAddress, socklen_t(MemoryLayout<Name>.size))
            }
        }
        try SystemError.check(call) { result }
    }

    /// Whether the path is a socket that refuses connections: left behind by a process that was killed.
    private static func isAbandoned(_ name: inout sockaddr_un) -> Bool {
        let probe = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { return false }
        defer { close(probe) }
        let result = withUnsafeBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                connect(probe, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == -1 && errno == ECONNREFUSED
    }

    /// Inherited by what is accepted: one call instead of one for each connection.
    private static func sendAtOnce(_ socket: Int32) {
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func option(_ name: Int32, of socket: Int32) throws(SystemError) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try SystemError.check("getsockopt") { getsockopt(socket, SOL_SOCKET, name, &value, &length) }
        return value
    }
}
