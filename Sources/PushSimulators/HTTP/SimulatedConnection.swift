internal import Glibc
internal import Reactor

/// One TCP connection of a simulator, and its faults. Only its event loop may use it.
///
/// `@unchecked Sendable`: only tasks of the connection's loop use it.
final class SimulatedConnection: @unchecked Sendable {
    /// The connection's number at its simulator, counted from 1.
    let number: Int
    let fault: Fault?
    private let descriptor: Descriptor

    /// POLLRDHUP of poll(2), which Glibc's module lacks.
    private static let peerHasEnded: Int16 = 0x2000

    init(number: Int, fault: Fault?, descriptor: Descriptor) {
        self.number = number
        self.fault = fault
        self.descriptor = descriptor
    }

    /// Whether the fault ends this connection before TLS begins. If so, the function returns after
    /// the connection's end.
    func endsBeforeTLS(within time: Duration) async throws(WaitError) -> Bool {
        switch self.fault {
        case .resetHandshake: self.reset()
        case .stopHandshake: try await self.waitForHangUp(within: time)
        default: return false
        }
        return true
    }

    /// Closes the connection with a reset; unsent bytes are lost.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor.number, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        self.descriptor.close()
    }

    /// Closes the TCP connection after the bytes sent so far, without ending TLS first.
    func cut() {
        self.descriptor.close()
    }

    /// Waits until the peer has closed the connection, without reading its bytes.
    func waitForHangUp(within time: Duration) async throws(WaitError) {
        let deadline = ContinuousClock.now + time
        while true {
            var state = pollfd(fd: self.descriptor.number, events: Self.peerHasEnded, revents: 0)
            guard poll(&state, 1, 0) == 0 else { return }
            self.descriptor.willRead()
            try await self.descriptor.waitToRead(until: deadline)
        }
    }
}
