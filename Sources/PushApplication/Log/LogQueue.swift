import Logging

/// The lines that wait to be written, limited by their number and their bytes. This type decides
/// which lines are dropped, and does no I/O.
///
/// A line that does not fit in the queue is dropped and counted. A quarter of the space is
/// reserved for warnings and errors, so that a flood of less severe lines cannot displace them.
struct LogQueue {
    /// Lines that are written together, in the order of their events.
    struct Batch {
        var lines: [LogLine] = []
        /// The number of lines that were dropped after this batch and before the next batch.
        var dropped = 0
    }

    static let maximumLines = 4096
    static let maximumBytes = 1 << 20

    private var batch = Batch()
    private var bytes = 0

    var isEmpty: Bool { self.batch.lines.isEmpty && self.batch.dropped == 0 }

    /// Adds a line; `false` if the line was dropped.
    mutating func add(_ line: LogLine) -> Bool {
        let quarters = line.level >= .warning ? 4 : 3
        let size = line.size
        guard self.batch.lines.count < Self.maximumLines * quarters / 4,
            self.bytes + size <= Self.maximumBytes * quarters / 4
        else {
            self.batch.dropped += 1
            return false
        }
        self.batch.lines.append(line)
        self.bytes += size
        return true
    }

    /// Removes and returns all waiting lines.
    mutating func take() -> Batch {
        defer { self = LogQueue() }
        return self.batch
    }
}
