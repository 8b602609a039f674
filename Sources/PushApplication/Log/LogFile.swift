import Glibc

/// Writes lines to a descriptor with `write(2)`. Errors are returned, and do not end the process.
struct LogFile {
    private let descriptor: Int32
    /// Whether only a part of the last line was written.
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

    /// Writes a whole line, and waits as long as necessary; `false` if the line cannot be written.
    ///
    /// If an earlier line was written only in part, a line end is written before this line.
    mutating func write(_ line: String) -> Bool {
        let bytes = Array(((self.isMidLine ? "\n" : "") + line + "\n").utf8)
        let written = Self.write(bytes, to: self.descriptor)
        if written > 0 { self.isMidLine = written < bytes.count }
        return written == bytes.count
    }

    /// Writes the bytes; returns how many were written. If not all bytes were written, `errno` has
    /// the reason.
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

    /// Whether to retry the write after `error`. If another program has made the descriptor
    /// non-blocking, first waits until it is writable.
    private static func mustRetry(after error: Int32, _ descriptor: Int32) -> Bool {
        if error == EINTR { return true }
        guard error == EAGAIN else { return false }
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // If a signal interrupts `poll`, the next write finds out whether the descriptor is
        // writable.
        poll(&request, 1, -1)
        return true
    }
}
