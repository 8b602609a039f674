import Logging

/// The lines that wait to be written, bounded by their number and their bytes. Decides; does nothing.
///
/// What finds no room is dropped and counted. A quarter of the room is for warnings and errors only, so that a flood of
/// lesser lines takes no room from them.
struct LogQueue {
    /// What is written at once, in the order in which it was logged.
    struct Batch {
        var lines: [LogLine] = []
        /// How many lines were dropped between these and those of the next batch.
        var dropped = 0
    }

    static let maximumLines = 4096
    static let maximumBytes = 1 << 20

    private var batch = Batch()
    private var bytes = 0

    var isEmpty: Bool { self.batch.lines.isEmpty && self.batch.dropped == 0 }

    /// Takes a line in; `false` if it was dropped.
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

    /// Gives away all that waits.
    mutating func take() -> Batch {
        defer { self = LogQueue() }
        return self.batch
    }
}
