import Glibc

/// Writes lines to a descriptor with `write(2)`; returns errors, which do not end the process.
struct LogFile {
    private let descriptor: Int32
    /// Whether the last line was written only in part.
    private var isMidLine = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Makes writes to a pipe without a reader fail with EPIPE on this thread, however the process
    /// handles SIGPIPE.
    static func ignoreBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Writes a whole line, however long that takes; `false` if it cannot be written.
    ///
    /// If a failure has cut a line off, the line is ended before the next one begins.
    mutating func write(_ line: String) -> Bool {
        let bytes = Array(((self.isMidLine ? "\n" : "") + line + "\n").utf8)
        let written = Self.write(bytes, to: self.descriptor)
        if written > 0 { self.isMidLine = written < bytes.count }
        return written == bytes.count
    }

    /// Writes these bytes, and returns how many were written; if not all were, `errno` has the
    /// reason.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count > 0 {
                    written += count
                } else if count == 0 || !self.mustRetry(after: errno, descriptor) {
                    return written
                }
            }
            return written
        }
    }

    /// Whether to retry the write; waits until a descriptor that another program made non-blocking
    /// is writable.
    private static func mustRetry(after error: Int32, _ descriptor: Int32) -> Bool {
        if error == EINTR { return true }
        guard error == EAGAIN else { return false }
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // If a signal interrupts the wait, the next write detects that.
        poll(&request, 1, -1)
        return true
    }
}
