import Foundation
import Logging
import Synchronization

/// The one thread that writes the log, so that no other thread waits for the reader of standard
/// error, or for a disk.
///
/// It writes lines in logging order. While the reader of a pipe is stalled or a disk is full,
/// lines are dropped and counted; one line reports how many as soon as it can be written.
package final class LogWriter: Sendable {
    /// The writer of the process, for standard error unless it is given a file. `exit(3)` flushes
    /// it for up to half a second.
    package static let standardError: LogWriter = {
        atexit { LogWriter.standardError.flush(within: .milliseconds(500)) }
        return LogWriter(descriptor: STDERR_FILENO)
    }()

    /// When to retry the report of dropped lines if no further line is logged.
    private static let retryAfter: TimeInterval = 1

    private struct State {
        var queue = LogQueue()
        var format = LogLine.Format.text
        /// The next file of the thread; `nil` if the thread already uses it.
        var newFile: Int32?
        var dropped = 0
        /// Whether the thread is writing lines.
        var isWriting = false
        /// Whether the thread waits for lines.
        var isAsleep = false
    }

    private let state = Mutex(State())
    /// Wakes threads that wait for a change of the state. The condition is signalled after the
    /// change, under the condition's own lock. A waiter holds that lock from reading the state
    /// until it waits, so that it misses no change.
    private let changed = NSCondition()

    /// Writes to `descriptor`, which must stay open as long as the process runs.
    init(descriptor: Int32) {
        Thread.detachNewThread { self.work(descriptor) }
    }

    /// How many lines were never written.
    var dropped: Int { self.state.withLock { $0.dropped } }

    /// Sets the format of all lines that are written from now on.
    func use(_ format: LogLine.Format) {
        self.state.withLock { $0.format = format }
    }

    /// Opens the file and appends all lines that are not yet written to it; creates it, for its
    /// owner and its group only, if there is none. Closes the previous file.
    ///
    /// Throws `ConfigurationError` if it cannot be opened; nothing changes then.
    package func append(to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else {
            throw ConfigurationError("log.file: \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        let unused = self.state.withLock { state in
            defer { state.newFile = descriptor }
            return state.newFile
        }
        if let unused { close(unused) }
    }

    /// Queues a line, or drops it if too many wait. Never blocks.
    func write(_ line: LogLine) {
        let wakesUp = self.state.withLock { state in
            if !state.queue.add(line) { state.dropped += 1 }
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wakesUp { self.changed.withLock { self.changed.broadcast() } }
    }

    /// Waits until all queued lines are written or dropped, at most for `timeout`. Must not be
    /// called on an event loop.
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
        // The file that `append(to:)` opened, which this thread closes; `first` belongs to the
        // process.
        var own: Int32?
        // Dropped lines that have not been reported yet.
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

    /// The next batch to write; empty if no line is logged within `timeout`.
    private func next(within timeout: TimeInterval?) -> (LogQueue.Batch, LogLine.Format) {
        let deadline = timeout.map { Date(timeIntervalSinceNow: $0) }
        self.changed.withLock {
            // `flush` waits for this thread to finish its batch.
            self.changed.broadcast()
            while self.state.withLock({ state in
                state.isAsleep = state.queue.isEmpty
                return state.isAsleep
            }) {
                // Foundation's clock overflows at `distantFuture`.
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

    /// Writes how many lines were dropped here, if any were; `false` if it cannot.
    private func reportDropped(_ unreported: inout Int, in file: inout LogFile, _ format: LogLine.Format) -> Bool {
        if unreported == 0 { return true }
        let fields = [(name: "count", value: "\(unreported)")]
        let line = LogLine(time: Date(), level: .warning, message: "log lines were dropped", fields: fields)
        guard file.write(line.text(as: format)) else { return false }
        unreported = 0
        return true
    }
}
