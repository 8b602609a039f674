/// The urgency of work for the writer.
enum WriterLane: Sendable {
    /// A client waits for the answer: the writer refuses work that has waited for too long.
    case request
    /// Leases and settlements of pushes: as urgent as `request`, but never refused for a long
    /// wait.
    case delivery
    /// Broadcasts' pages, cleanup and the like: one job at a time, between the transactions of the
    /// other lanes.
    case housekeeping
}

/// The jobs that wait for the writer, by lanes. The queue decides which jobs are next, and the
/// writer runs them.
struct WriterQueue<Job> {
    enum Turn {
        /// The writer runs the jobs in one transaction, and refuses the `late` ones, whose clients
        /// have got an answer by now.
        case jobs([Job], late: [Job])
        case receipts
    }

    private struct Entry {
        let job: Job
        let bytes: Int
        /// `nil` if the job is never refused.
        let refusedAfter: ContinuousClock.Instant?
    }

    /// The largest number of waiting jobs in each lane, and the largest number of bytes in the
    /// values of all waiting jobs.
    private let limit: Int
    private let byteLimit: Int
    /// How many urgent jobs one transaction takes, so that none waits long for the commit of the
    /// others.
    private let batch: Int
    private var urgent: [Entry] = []
    private var housekeeping: [Entry] = []
    private(set) var bytes = 0
    /// Whether the last turn was of urgent jobs, and whether the last other turn was of receipts:
    /// after urgent jobs, receipts and housekeeping take turns.
    private var wasUrgent = false
    private var wereReceipts = false

    init(limit: Int = 10_000, byteLimit: Int = 64 << 20, batch: Int = 500) {
        (self.limit, self.byteLimit, self.batch) = (limit, byteLimit, batch)
    }

    var count: Int { self.urgent.count + self.housekeeping.count }

    /// Adds a job; `false` if too much is waiting.
    mutating func add(_ job: Job, _ lane: WriterLane, bytes: Int, timeout: Duration, now: ContinuousClock.Instant)
        -> Bool
    {
        let isUrgent = lane != .housekeeping
        guard (isUrgent ? self.urgent.count : self.housekeeping.count) < self.limit else { return false }
        let (sum, isOver) = self.bytes.addingReportingOverflow(bytes)
        // Settlements are few and small, and if one were refused, the outcome of its push would be
        // lost.
        guard lane != .request || !isOver && sum <= self.byteLimit else { return false }
        self.bytes = sum
        let entry = Entry(job: job, bytes: bytes, refusedAfter: lane == .request ? now + timeout : nil)
        if isUrgent { self.urgent.append(entry) } else { self.housekeeping.append(entry) }
        return true
    }

    /// The next turn; `nil` if there is nothing to do.
    mutating func next(hasReceipts: Bool, now: ContinuousClock.Instant) -> Turn? {
        let hasOthers = hasReceipts || !self.housekeeping.isEmpty
        // Urgent and other jobs alternate, so that neither kind waits until a rush of the other
        // kind ends.
        if !self.urgent.isEmpty, !self.wasUrgent || !hasOthers {
            self.wasUrgent = true
            return self.take(\.urgent, min(self.batch, self.urgent.count), now)
        }
        self.wasUrgent = false
        if hasReceipts, self.housekeeping.isEmpty || !self.wereReceipts {
            self.wereReceipts = true
            return .receipts
        }
        self.wereReceipts = false
        return self.housekeeping.isEmpty ? nil : self.take(\.housekeeping, 1, now)
    }

    private mutating func take(
        _ lane: WritableKeyPath<Self, [Entry]>,
        _ count: Int,
        _ now: ContinuousClock.Instant
    ) -> Turn {
        var (jobs, late): ([Job], [Job]) = ([], [])
        for entry in self[keyPath: lane].prefix(count) {
            self.bytes -= entry.bytes
            if let end = entry.refusedAfter, end < now { late.append(entry.job) } else { jobs.append(entry.job) }
        }
        self[keyPath: lane].removeFirst(count)
        return .jobs(jobs, late: late)
    }
}
