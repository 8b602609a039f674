import Foundation
import Logging
import Synchronization

/// The one thread that writes the log, so that nobody else waits for what is behind standard error.
///
/// Lines come out in the order in which they were logged. Where the reader of a pipe stands still or a disk is full, lines are
/// dropped and counted, and one line tells how many as soon as it can be written.
final class LogWriter: Sendable {
    /// For standard error, which a process has once. `exit(3)` waits for it a moment.
    static let standardError: LogWriter = {
        atexit { LogWriter.standardError.flush(within: .milliseconds(500)) }
        return LogWriter(descriptor: STDERR_FILENO)
    }()

    /// How long dropped lines wait to be told where no further line is logged.
    private static let retryAfter: TimeInterval = 1

    private struct State {
        var queue = LogQueue()
        var format = LogLine.Format.text
        var dropped = 0
        /// Whether the thread has lines in hand.
        var isWriting = false
        /// Whether the thread waits for lines.
        var isAsleep = false
    }

    private let state = Mutex(State())
    /// For who waits for a change of the state. It is rung after the change, under its own lock, which a waiter holds from its
    /// look at the state until it waits.
    private let changed = NSCondition()

    /// Writes to `descriptor`, which must stay open, as long as the process runs.
    init(descriptor: Int32) {
        Thread.detachNewThread { self.work(LogFile(descriptor: descriptor)) }
    }

    /// How many lines were never written.
    var dropped: Int { self.state.withLock { $0.dropped } }

    /// Writes lines in that form from now on.
    func use(_ format: LogLine.Format) {
        self.state.withLock { $0.format = format }
    }

    /// Has a line written soon, or drops it if too many wait. Never waits.
    func write(_ line: LogLine) {
        let wakesUp = self.state.withLock { state in
            if !state.queue.add(line) { state.dropped += 1 }
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wakesUp { self.changed.withLock { self.changed.broadcast() } }
    }

    /// Waits until all that was logged before is written or dropped, at most for `patience`. Not on a loop.
    func flush(within patience: Duration) {
        let deadline = Date(timeIntervalSinceNow: patience / .seconds(1))
        self.changed.withLock {
            while self.state.withLock({ !$0.queue.isEmpty || $0.isWriting }) {
                if !self.changed.wait(until: deadline) { return }
            }
        }
    }

    // MARK: - On the thread

    private func work(_ file: LogFile) {
        LogFile.ignoreBrokenPipes()
        var file = file
        // Lines that are missing, and of which no line tells yet.
        var untold = 0
        while true {
            let (batch, format) = self.next(within: untold > 0 ? Self.retryAfter : nil)
            var lost = 0
            for line in batch.lines {
                if self.tell(of: &untold, in: &file, format), file.write(line.text(as: format)) { continue }
                lost += 1
                untold += 1
            }
            untold += batch.dropped
            _ = self.tell(of: &untold, in: &file, format)
            self.state.withLock { state in
                state.dropped += lost
                state.isWriting = false
            }
        }
    }

    /// What is to be written next; nothing if nothing comes within `patience`.
    private func next(within patience: TimeInterval?) -> (LogQueue.Batch, LogLine.Format) {
        let deadline = patience.map { Date(timeIntervalSinceNow: $0) }
        self.changed.withLock {
            // Who flushes waits for this thread to have nothing in hand.
            self.changed.broadcast()
            while self.state.withLock({ state in
                state.isAsleep = state.queue.isEmpty
                return state.isAsleep
            }) {
                // Not `distantFuture`, at which Foundation's clock overflows.
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

    /// Writes how many lines are missing here, if any are; `false` if it cannot.
    private func tell(of untold: inout Int, in file: inout LogFile, _ format: LogLine.Format) -> Bool {
        if untold == 0 { return true }
        let fields = [(name: "count", value: "\(untold)")]
        let line = LogLine(time: Date(), level: .warning, message: "log lines were dropped", fields: fields)
        guard file.write(line.text(as: format)) else { return false }
        untold = 0
        return true
    }
}
