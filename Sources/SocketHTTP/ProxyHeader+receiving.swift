internal import Glibc
internal import Reactor

extension ProxyHeader {
    /// The reason why no client is known after the wait for a header.
    enum Failure: Error {
        case malformed
        /// The connection ended, or the time for the header was over.
        case missing
    }

    /// Reads the header, and no byte after it. Call it on the descriptor's loop.
    static func receive(
        on descriptor: Descriptor,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Source {
        var bytes: [UInt8] = []
        while true {
            switch self.step(after: bytes) {
            case .malformed: throw .malformed
            case .complete(let source):
                // The bytes behind the header may have come together with it, and then no further
                // edge reports them.
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
