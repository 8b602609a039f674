internal import CEpoll
internal import Glibc
internal import Synchronization

/// A listening socket, bound and ready before any loop serves it, so that its port is known and no client is refused.
package final class Listener: Sendable {
    let socket: Int32
    /// Where it really listens: port 0 has become a number.
    package let address: SocketAddress
    /// Whether other processes have the socket, too, such as the next one that serves.
    private let isShared: Bool
    /// How many connections at most are taken before the loop has its turn.
    private static let takenPerTurn = 64
    /// How many more turns are taken after `stop()`: enough for the clients that wait, and an end to a flood.
    private static let lastTurns = 64

    /// A mutex, because the caller of `stop()` is on no loop.
    private let life = Mutex(Life())

    private struct Life {
        var isStopped = false
        var isClosed = false
        /// How many `accept` run.
        var accepting = 0
        /// Ends the wait of each `accept` that runs.
        var wakes: [@Sendable () -> Void] = []
    }

    /// Binds and listens. A unix socket on which no process listens any more is replaced.
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

    /// Takes over a socket that this process was started with, and on which its supervisor listens, too, also after its
    /// end.
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
        if !self.life.withLock({ $0.isClosed }) { close(self.socket) }
    }

    /// Resets connections whose client has acknowledged nothing for so long, though there was something: it has vanished.
    package func dropVanishedClients(after time: Duration) {
        guard case .tcp = self.address else { return }
        // Inherited by what is accepted, as `TCP_NODELAY` is.
        var milliseconds = UInt32(clamping: time.components.seconds * 1000)
        setsockopt(
            self.socket,
            Int32(IPPROTO_TCP),
            TCP_USER_TIMEOUT,
            &milliseconds,
            socklen_t(MemoryLayout<UInt32>.size)
        )
    }

    /// Lets every `accept` take what already waits to be taken, and end; later ones do the same. The last of them closes
    /// the socket, so that clients who come from then on are refused and can ask elsewhere.
    ///
    /// On an adopted socket they end at once, and what waits is left to the process that comes next.
    ///
    /// Other than cancelling its task, this leaves the tasks alone that the accepting one has started.
    package func stop() {
        let wakes = self.life.withLock { life in
            life.isStopped = true
            return life.wakes
        }
        for wake in wakes { wake() }
    }

    /// Takes connections on `loop` until `stop()` or until the task is cancelled; each is a non-blocking descriptor,
    /// the caller's to own.
    ///
    /// Pauses for moments while the only descriptors left are not for connections, and after failures that pass.
    /// Cancelled, it leaves the socket open; dropping the listener closes it.
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
                        await Self.rest()
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
                    // Thrown only for cancellation and `stop()`, which the next turn sees.
                    try? await descriptor.waitToRead(until: .now + .seconds(3600))
                default: await Self.rest()
                }
            }
        }
    }

    // MARK: - Private

    private static func rest() async {
        // Ends early by cancellation only, which the next turn sees.
        try? await Task.sleep(for: .milliseconds(50))
    }

    private var isStopped: Bool { self.life.withLock { $0.isStopped } }

    /// A duplicate of the socket, because a descriptor closes what it owns; `nil` after the end.
    private func begin() -> Int32? {
        self.life.withLock { life in
            // Out of descriptors: as if the task had been cancelled.
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
            // On an adopted one others go on listening.
            close(self.socket)
        }
    }

    private func wakeWhenStopped(_ descriptor: Descriptor) {
        let loop = descriptor.loop
        // Safe: the reference is used on the loop only, where the descriptor lives.
        nonisolated(unsafe) let descriptor = descriptor
        self.life.withLock { life in
            life.wakes.append { loop.execute { descriptor.cancelWaits() } }
        }
    }
}
