internal import Glibc
internal import Reactor

extension ProxyHeader {
    /// The reason why the client is still unknown after the wait for a PROXY header.
    enum Failure: Error {
        case malformed
        /// The connection ended, or the header did not arrive before the deadline.
        case missing
    }

    /// Reads the header, and no byte after the header. Call it on the descriptor's event loop.
    static func receive(
        on descriptor: Descriptor,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Source {
        var bytes: [UInt8] = []
        while true {
            switch self.step(after: bytes) {
            case .malformed: throw .malformed
            case .complete(let source):
                // The bytes after the header may have arrived together with the header. Then epoll
                // reports no further edge, so the reader must be woken here.
                descriptor.wakeReader()
                return source
            case .read(let count):
                var piece = [UInt8](repeating: 0, count: count)
                descriptor.willRead()
                let length = recv(descriptor.number, &piece, count, 0)
                if length > 0 {
                    bytes += piece.prefix(length)
                } else if length == 0 {
                    throw .missing
                } else if errno == EAGAIN {
                    do throws(WaitError) {
                        try await descriptor.waitToRead(until: deadline)
                    } catch {
                        throw .missing
                    }
                } else if errno != EINTR {
                    throw .missing
                }
            }
        }
    }
}
