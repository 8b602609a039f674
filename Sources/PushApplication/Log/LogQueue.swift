import Logging

/// The lines that wait to be written, limited by their number and their bytes. It decides, and
/// does no I/O.
///
/// A line that does not fit is dropped and counted. A quarter of the space is reserved for
/// warnings and errors, so that a flood of less severe lines cannot displace them.
struct LogQueue {
    /// Lines to write together, in logging order.
    struct Batch {
        var lines: [LogLine] = []
        /// The number of lines that were dropped between this batch and the next.
        var dropped = 0
    }

    static let maximumLines = 4096
    static let maximumBytes = 1 << 20

    private var batch = Batch()
    private var bytes = 0

    var isEmpty: Bool { self.batch.lines.isEmpty && self.batch.dropped == 0 }

    /// Adds a line; `false` if it was dropped.
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
