internal import CEpoll
internal import Glibc

/// A connected socket without encryption.
package final class SocketStream: ByteStream {
    package let descriptor: Descriptor
    /// Whether the last read did not fill its buffer, so that the next read would find nothing.
    private var isDrained = false

    package init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int? {
        if self.isDrained, !self.descriptor.mayRead { return nil }
        self.descriptor.willRead()
        let count = try Self.result(of: "recv") { recv(self.descriptor.number, buffer.baseAddress, buffer.count, 0) }
        // After a read of 0 bytes (the peer has ended its side), the next call must read again, so
        // that it also reports the end.
        // Bytes that arrive later show in `mayRead`.
        self.isDrained = count.map { $0 > 0 && $0 < buffer.count } ?? true
        return count
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        try Self.result(of: "send") {
            send(self.descriptor.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }

    package func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        self.isDrained = false
        self.descriptor.whenReadable(until: deadline, resume: waiter)
    }

    package func wakeReader() {
        self.descriptor.wakeReader()
    }

    package func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        try await self.descriptor.waitToWrite(until: deadline)
    }

    package func endWriting() {
        shutdown(self.descriptor.number, Int32(SHUT_WR))
    }

    package func close() {
        self.descriptor.close()
    }

    private static func result(of call: String, _ body: () -> Int) throws(StreamError) -> Int? {
        while true {
            let count = body()
            if count >= 0 { return count }
            switch errno {
            case EAGAIN: return nil
            case EINTR: continue
            case let code: throw StreamError(SystemError(call: call, code: code).description)
            }
        }
    }
}
