import Foundation
import Logging
import Reactor
import Synchronization

/// The only thread that writes the log. So no other thread waits for the reader of standard error,
/// or for a disk.
///
/// The thread writes lines in the order of their events. While the reader of a pipe is stalled or
/// a disk is full, lines are dropped and counted. As soon as possible, a line reports the number
/// of dropped lines.
package final class LogWriter: Sendable {
    /// The writer of the process. It writes to standard error until `append(to:)` names a file.
    /// `exit(3)` waits up to half a second until all lines are written.
    package static let standardError: LogWriter = {
        atexit { LogWriter.standardError.flush(within: .milliseconds(500)) }
        return LogWriter(descriptor: STDERR_FILENO)
    }()

    /// If no further line is logged, the report of dropped lines is retried after this number of
    /// seconds.
    private static let retryAfter: TimeInterval = 1

    private struct State {
        var queue = LogQueue()
        var format = LogLine.Format.text
        /// The file that the thread must use from now on; `nil` if the thread already uses the
        /// newest file.
        var newFile: Int32?
        var dropped = 0
        /// Whether the thread is writing lines.
        var isWriting = false
        /// Whether the thread waits for lines.
        var isAsleep = false
    }

    private let state = Mutex(State())
    /// Wakes threads that wait for a change of the state. A thread signals this condition after
    /// the change, while it holds the condition's own lock. A waiting thread holds that lock from
    /// the moment at which it reads the state, so that it misses no change.
    private let changed = NSCondition()

    /// Writes lines to `descriptor`, which must stay open as long as the process runs.
    init(descriptor: Int32) {
        detachThread { self.work(descriptor) }
    }

    /// The number of lines that were dropped.
    var dropped: Int { self.state.withLock { $0.dropped } }

    /// Sets the format of all lines that are written from now on.
    func use(_ format: LogLine.Format) {
        self.state.withLock { $0.format = format }
    }

    /// Opens the file, and appends all lines that are not yet written. A missing file is created
    /// for its owner and its group only. The previous file is closed.
    ///
    /// Throws `ConfigurationError` if the file cannot be opened, or `CommandFailure` if the disk
    /// is full; the previous file then stays in use.
    package func append(to path: String) throws {
        // Without `O_NONBLOCK`, the start would wait until a process reads a named pipe.
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else {
            let (code, text) = (errno, "log.file: \(path) cannot be opened")
            if code == ENXIO { throw ConfigurationError("\(text): nobody reads this pipe; start its reader") }
            throw PrivateFile.failure(text, code)
        }
        let unused = self.state.withLock { state in
            defer { state.newFile = descriptor }
            return state.newFile
        }
        if let unused { close(unused) }
    }

    /// Queues a line, or drops it if the queue is full. Never blocks.
    func write(_ line: LogLine) {
        let wakesUp = self.state.withLock { state in
            if !state.queue.add(line) { state.dropped += 1 }
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wakesUp { self.changed.withLock { self.changed.broadcast() } }
    }

    /// Waits until all queued lines are written or dropped, at most for `timeout`. Never call it
    /// on an event loop.
    func flush(within timeout: Duration) {
        let deadline = Date(timeIntervalSinceNow: timeout / .seconds(1))
        self.changed.withLock {
            while self.state.withLock({ !$0.queue.isEmpty || $0.isWriting }) {
                if !self.changed.wait(until: deadline) { return }
            }
        }
    }

    // MARK: - On the thread

    private func work(_ first: Int32) {
        LogFile.ignoreBrokenPipes()
        var file = LogFile(descriptor: first)
        // The descriptor that `append(to:)` opened; this thread closes it. `first` belongs to the
        // process and stays open.
        var own: Int32?
        // The number of dropped lines that no line has reported yet.
        var unreported = 0
        while true {
            let (batch, format) = self.next(within: unreported > 0 ? Self.retryAfter : nil)
            if let new = self.state.withLock({ $0.newFile.take() }) {
                file = LogFile(descriptor: new)
                if let old = own { close(old) }
                own = new
            }
            var lost = 0
            for line in batch.lines {
                if self.reportDropped(&unreported, in: &file, format), file.write(line.text(as: format)) { continue }
                lost += 1
                unreported += 1
            }
            unreported += batch.dropped
            _ = self.reportDropped(&unreported, in: &file, format)
            self.state.withLock { state in
                state.dropped += lost
                state.isWriting = false
            }
        }
    }

    /// The next lines to write; empty if nothing is logged within `timeout`.
    private func next(within timeout: TimeInterval?) -> (LogQueue.Batch, LogLine.Format) {
        let deadline = timeout.map { Date(timeIntervalSinceNow: $0) }
        self.changed.withLock {
            // `flush` waits for this thread to finish its batch.
            self.changed.broadcast()
            while self.state.withLock({ state in
                state.isAsleep = state.queue.isEmpty
                return state.isAsleep
            }) {
                // `distantFuture` cannot stand for a missing deadline: Foundation's clock would
                // overflow.
                guard let deadline else {
                    self.changed.wait()
                    continue
                }
                if !self.changed.wait(until: deadline) { break }
            }
        }
        return self.state.withLock { state in
            state.isAsleep = false
            state.isWriting = true
            return (state.queue.take(), state.format)
        }
    }

    /// Writes a line with the number of dropped lines, if any; `false` if that line cannot be
    /// written.
    private func reportDropped(_ unreported: inout Int, in file: inout LogFile, _ format: LogLine.Format) -> Bool {
        if unreported == 0 { return true }
        let fields = [(name: "count", value: "\(unreported)")]
        let line = LogLine(time: Date(), level: .warning, message: "log lines were dropped", fields: fields)
        guard file.write(line.text(as: format)) else { return false }
        unreported = 0
        return true
    }
}
