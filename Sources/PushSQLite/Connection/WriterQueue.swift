/// How urgent work is that writes.
enum WriterLane: Sendable {
    /// Somebody waits for the answer: the work is refused when that has taken too long.
    case request
    /// Claims and settlements of pushes: as urgent, but nobody gives up on them.
    case delivery
    /// Broadcasts' pages, retention and the like: one at a time, between the others.
    case housekeeping
}

/// The work that waits for the writer, by lanes. Decides what is next; does nothing.
struct WriterQueue<Job> {
    enum Turn {
        /// To be run in one transaction; `late` to be refused, because those who asked have been answered by now.
        case jobs([Job], late: [Job])
        case receipts
    }

    private struct Entry {
        let job: Job
        let bytes: Int
        /// `nil` where nobody gives up.
        let refusedAfter: ContinuousClock.Instant?
    }

    /// Jobs that may wait in each lane, and what their values take.
    private let bound: Int
    private let boundInBytes: Int
    /// How many urgent jobs one transaction takes, so that none waits long for the commit of the others.
    private let batch: Int
    private var urgent: [Entry] = []
    private var housekeeping: [Entry] = []
    private(set) var bytes = 0
    /// Receipts and housekeeping take turns behind what is urgent.
    private var wasUrgent = false
    private var wereReceipts = false

    init(bound: Int = 10_000, boundInBytes: Int = 64 << 20, batch: Int = 500) {
        self.bound = bound
        self.boundInBytes = boundInBytes
        self.batch = batch
    }

    var count: Int { self.urgent.count + self.housekeeping.count }

    /// Takes a job on; `false` if too much is waiting.
    mutating func add(_ job: Job, _ lane: WriterLane, bytes: Int, patience: Duration, now: ContinuousClock.Instant)
        -> Bool
    {
        let isUrgent = lane != .housekeeping
        guard (isUrgent ? self.urgent.count : self.housekeeping.count) < self.bound else { return false }
        let (sum, isOver) = self.bytes.addingReportingOverflow(bytes)
        // Settlements are few and small, and what they tell is lost if it has no place.
        guard lane != .request || !isOver && sum <= self.boundInBytes else { return false }
        self.bytes = sum
        let entry = Entry(job: job, bytes: bytes, refusedAfter: lane == .request ? now + patience : nil)
        if isUrgent { self.urgent.append(entry) } else { self.housekeeping.append(entry) }
        return true
    }

    /// What to do next; `nil` if there is nothing.
    mutating func next(hasReceipts: Bool, now: ContinuousClock.Instant) -> Turn? {
        let hasOthers = hasReceipts || !self.housekeeping.isEmpty
        // By turns, so that neither waits for the end of the other's rush.
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
