import Glibc

/// Where lines go, by `write(2)`: all that may go wrong there is an answer and not the end of the process.
struct LogFile {
    private let descriptor: Int32
    /// Whether a line was broken off.
    private var isMidLine = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Has a pipe without a reader answer EPIPE on this thread, whatever the process does about SIGPIPE.
    static func ignoreBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Writes a line whole, however long that takes; `false` if it cannot be written. A line that a failure cuts off ends before
    /// the next one begins.
    mutating func write(_ line: String) -> Bool {
        let bytes = Array(((self.isMidLine ? "\n" : "") + line + "\n").utf8)
        let written = Self.write(bytes, to: self.descriptor)
        if written > 0 { self.isMidLine = written < bytes.count }
        return written == bytes.count
    }

    /// Writes these bytes, and returns how many of them could be; `errno` tells why the others could not.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count > 0 {
                    written += count
                } else if count == 0 || !self.mayGoOn(after: errno, descriptor) {
                    return written
                }
            }
            return written
        }
    }

    /// Whether the same is worth another try; waits for a descriptor that somebody has made non-blocking.
    private static func mayGoOn(after error: Int32, _ descriptor: Int32) -> Bool {
        if error == EINTR { return true }
        guard error == EAGAIN else { return false }
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // Interrupted or not, the next write tells.
        poll(&request, 1, -1)
        return true
    }
}
