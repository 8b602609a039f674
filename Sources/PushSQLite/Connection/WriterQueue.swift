/// The kinds of work for the writer, by their urgency.
enum WriterLane: Sendable {
    /// A client waits for the answer. If the work has waited too long, the writer refuses it.
    case request
    /// Work that reserves pushes for sending, or stores their outcomes. It is as urgent as
    /// `request`, but is never refused because of a long wait.
    case delivery
    /// Work such as cleanup, or the next page of a broadcast's pushes. Its jobs run one at a time,
    /// between the transactions of the other kinds.
    case housekeeping
}

/// The jobs that wait for the writer. The queue decides which of them come next, and the writer
/// runs them.
struct WriterQueue<Job> {
    enum Turn {
        /// The writer runs the jobs in one transaction, but refuses those in `late`: their clients
        /// have already got an answer.
        case jobs([Job], late: [Job])
        case receipts
    }

    private struct Entry {
        let job: Job
        let bytes: Int
        /// The time after which the writer refuses the job; `nil`: it never refuses the job.
        let refusedAfter: ContinuousClock.Instant?
    }

    /// At most this number of urgent jobs, and at most the same number of other jobs, may wait.
    /// `byteLimit` is the maximum number of bytes in the values of all waiting jobs.
    private let limit: Int
    private let byteLimit: Int
    /// The maximum number of urgent jobs in one transaction. Because of this limit, no job waits
    /// long for the commit of other jobs.
    private let batch: Int
    private var urgent: [Entry] = []
    private var housekeeping: [Entry] = []
    private(set) var bytes = 0
    /// Whether the writer's last work was urgent jobs, and whether its last work of another kind
    /// was receipts. After urgent jobs, receipts and housekeeping take turns.
    private var wasUrgent = false
    private var wereReceipts = false

    init(limit: Int = 10_000, byteLimit: Int = 64 << 20, batch: Int = 500) {
        (self.limit, self.byteLimit, self.batch) = (limit, byteLimit, batch)
    }

    var count: Int { self.urgent.count + self.housekeeping.count }

    /// Adds a job; `false` if too many jobs or too many bytes are waiting.
    mutating func add(_ job: Job, _ lane: WriterLane, bytes: Int, timeout: Duration, now: ContinuousClock.Instant)
        -> Bool
    {
        let isUrgent = lane != .housekeeping
        guard (isUrgent ? self.urgent.count : self.housekeeping.count) < self.limit else { return false }
        let (sum, isOver) = self.bytes.addingReportingOverflow(bytes)
        // The bytes of settlements (outcomes of pushes) are not limited. They are few, and if a
        // settlement were refused, the outcome of its push would be lost.
        guard lane != .request || !isOver && sum <= self.byteLimit else { return false }
        self.bytes = sum
        let entry = Entry(job: job, bytes: bytes, refusedAfter: lane == .request ? now + timeout : nil)
        if isUrgent { self.urgent.append(entry) } else { self.housekeeping.append(entry) }
        return true
    }

    /// Decides what the writer does next; `nil` if there is nothing to do.
    mutating func next(hasReceipts: Bool, now: ContinuousClock.Instant) -> Turn? {
        let hasOthers = hasReceipts || !self.housekeeping.isEmpty
        // Urgent jobs alternate with other work. So neither kind has to wait until the other has
        // no more work.
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
