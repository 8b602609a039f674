internal import Glibc
internal import Reactor

/// One TCP connection of a simulator, and the ways in which it goes wrong. On its loop only.
///
/// `@unchecked Sendable`: it is handed to tasks of that loop and to no others.
final class SimulatedConnection: @unchecked Sendable {
    /// Counted from 1.
    let number: Int
    let fault: Fault?
    private let descriptor: Descriptor

    /// POLLRDHUP of poll(2), which Glibc's module does not have.
    private static let peerHasEnded: Int16 = 0x2000

    init(number: Int, fault: Fault?, descriptor: Descriptor) {
        self.number = number
        self.fault = fault
        self.descriptor = descriptor
    }

    /// Whether its fault ends it before TLS begins; returns when it has ended then.
    func endsBeforeTLS(within time: Duration) async throws(WaitError) -> Bool {
        switch self.fault {
        case .resetHandshake: self.reset()
        case .stopHandshake: try await self.waitForHangUp(within: time)
        default: return false
        }
        return true
    }

    /// Closes it with a reset, and what was not sent yet is lost.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor.number, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        self.descriptor.close()
    }

    /// Closes it after what was sent, without an end of TLS.
    func cut() {
        self.descriptor.close()
    }

    /// Waits until the peer has gone, and reads nothing meanwhile.
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
