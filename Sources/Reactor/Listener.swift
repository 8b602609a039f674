internal import CEpoll
internal import Glibc
internal import Synchronization

/// A listening socket, bound before any loop serves it, so that its port is known and no client is
/// refused.
package final class Listener: Sendable {
    let socket: Int32
    /// The address on which the socket listens, with the real port if the caller has given port 0.
    package let address: SocketAddress
    /// Whether other processes share the socket, such as the next server process.
    private let isShared: Bool
    /// The maximum number of connections that are accepted before the loop runs other work.
    private static let takenPerTurn = 64
    /// The maximum number of rounds of the loop in `accept` after `stop()`. This number suffices
    /// for the clients that already wait, and limits a flood of new ones.
    private static let lastTurns = 64

    /// A mutex protects the state, because the caller of `stop()` is not on a loop.
    private let life = Mutex(Life())

    private struct Life {
        var isStopped = false
        var isClosed = false
        /// The number of running `accept` calls.
        var accepting = 0
        /// Ends the wait of each running `accept`.
        var wakes: [@Sendable () -> Void] = []
    }

    /// Binds and listens. A unix socket on which no process listens any more is replaced.
    ///
    /// If `isOwnersOnly` is `true`, a unix socket has the mode 0600 from its first moment on.
    ///
    /// Throws `SystemError`, with the address in its text, if the address is in use or not local.
    package init(
        _ address: SocketAddress,
        backlog: Int32 = 4096,
        isOwnersOnly: Bool = false
    ) throws(SystemError) {
        let family: Int32
        switch address {
        case .tcp(let host, _): family = host.contains(":") ? AF_INET6 : AF_INET
        case .unix: family = AF_UNIX
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        self.isShared = false
        self.socket = try SystemError.check("socket") { Glibc.socket(family, type, 0) }
        do {
            // On Linux, the socket's file gets the mode of the socket, without the bits of the
            // umask.
            if isOwnersOnly { try SystemError.check("fchmod") { [socket] in fchmod(socket, 0o600) } }
            try Self.bind(self.socket, to: address)
            try SystemError.check("listen on \(address)") { [socket] in listen(socket, backlog) }
            self.address = try SocketAddress(boundBy: self.socket)
        } catch {
            close(self.socket)
            throw error
        }
    }

    /// Adopts a socket that this process was started with; its supervisor listens on the socket
    /// too, also after this process has ended.
    ///
    /// Makes it non-blocking and close-on-exec. Throws `SystemError` if it is not a listening
    /// stream socket, and then leaves the socket unchanged.
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

    /// Makes another listener on the same socket. If `stop()` of the new listener is called, this
    /// listener gets the waiting connections. Throws `SystemError`.
    package func duplicate() throws(SystemError) -> Listener {
        try Listener(adopting: SystemError.check("dup") { dup(self.socket) })
    }

    deinit {
        if !self.life.withLock({ $0.isClosed }) { close(self.socket) }
    }

    /// Resets connections whose client has not acknowledged pending bytes for `time`, and so has
    /// vanished.
    package func dropVanishedClients(after time: Duration) {
        guard case .tcp = self.address else { return }
        // Accepted sockets inherit this option, as they do `TCP_NODELAY`.
        var milliseconds = UInt32(clamping: time.components.seconds * 1000)
        setsockopt(
            self.socket,
            Int32(IPPROTO_TCP),
            TCP_USER_TIMEOUT,
            &milliseconds,
            socklen_t(MemoryLayout<UInt32>.size)
        )
    }

    /// Makes each call of `accept` take the connections that already wait, and return. Later calls
    /// of `accept` do the same. The last of these calls closes the socket, so that later clients
    /// are refused and can connect to another server.
    ///
    /// On an adopted socket the calls return at once, and waiting connections are left to the next
    /// process.
    ///
    /// Unlike a cancellation of the task that accepts, `stop()` does not affect the tasks that
    /// this task has started.
    package func stop() {
        let wakes = self.life.withLock { life in
            life.isStopped = true
            return life.wakes
        }
        for wake in wakes { wake() }
    }

    /// Accepts connections on `loop` until `stop()` or until the task is cancelled; each is a
    /// non-blocking descriptor, which the caller then owns.
    ///
    /// It pauses while all descriptors for connections are in use, and after temporary failures.
    /// Cancellation leaves the socket open; dropping the listener closes it.
    package func accept(on loop: EventLoop, _ connection: (Int32) -> Void) async {
        guard let duplicate = self.begin() else { return }
        defer { self.end() }
        guard let descriptor = try? Descriptor(duplicate, on: loop) else { return }
        defer { descriptor.close() }
        self.wakeWhenStopped(descriptor)
        let usable = Self.usableDescriptors
        await descriptor.cancellingWaits {
            var (taken, lastTurns) = (0, 0)
            while !Task.isCancelled, !(self.isShared && self.isStopped) {
                let accepted = cepoll_accept(duplicate)
                if accepted >= 0 {
                    connection(accepted)
                    let mayBeLast = accepted + 1 >= usable
                    while mayBeLast, !self.isStopped, !Task.isCancelled, Self.lowestFree >= usable {
                        await Self.pauseBeforeRetry()
                    }
                    taken += 1
                    guard taken % Self.takenPerTurn == 0 else { continue }
                    if self.isStopped { lastTurns += 1 }
                    guard lastTurns < Self.lastTurns else { return }
                    await loop.yield()
                    continue
                }
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EAGAIN:
                    if self.isStopped { return }
                    // The wait throws only at a cancellation and at `stop()`. The next round of
                    // the loop checks for both.
                    try? await descriptor.waitToRead(until: .now + .seconds(3600))
                default: await Self.pauseBeforeRetry()
                }
            }
        }
    }

    // MARK: - Private

    private static func pauseBeforeRetry() async {
        // The sleep ends early only at a cancellation. The next round of the loop checks for that.
        try? await Task.sleep(for: .milliseconds(50))
    }

    private var isStopped: Bool { self.life.withLock { $0.isStopped } }

    /// A duplicate of the socket, because a `Descriptor` closes the socket that it owns; `nil` if
    /// the listener is closed.
    private func begin() -> Int32? {
        self.life.withLock { life in
            // Without a free descriptor, `accept` returns as if its task had been cancelled.
            guard !life.isClosed, let duplicate = try? SystemError.check("dup", { dup(self.socket) }) else {
                return nil
            }
            life.accepting += 1
            return duplicate
        }
    }

    private func end() {
        self.life.withLock { life in
            life.accepting -= 1
            guard life.isStopped, life.accepting == 0, !life.isClosed else { return }
            life.isClosed = true
            // Other processes keep listening on an adopted socket.
            close(self.socket)
        }
    }

    private func wakeWhenStopped(_ descriptor: Descriptor) {
        let loop = descriptor.loop
        // `nonisolated(unsafe)` is safe, because the reference is used only on the descriptor's
        // loop.
        nonisolated(unsafe) let descriptor = descriptor
        self.life.withLock { life in
            life.wakes.append { loop.execute { descriptor.cancelWaits() } }
        }
    }
}
