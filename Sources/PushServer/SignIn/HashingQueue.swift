/// The requester of a password hash, which determines its place in the queue.
struct HashingRequester: Sendable, Hashable {
    /// `nil`: the job counts only for the total limit.
    let account: UInt64?
    let address: UInt64?
    /// The lowest rank goes first. It is 0 for a new password, and for an address that has signed
    /// in to the account before. Then the job does not count for the limit of its address.
    let rank: Int
}

/// The queue of passwords to hash: its order, and its limits per account, per address and in
/// total.
struct HashingQueue<Job: Sendable>: Sendable {
    enum Admission {
        /// The job runs at once, on one more worker.
        case starts
        /// The job waits. `instead` is the job that was dropped to make room, if any; the caller
        /// must refuse it.
        case waits(instead: Job?)
        case full
    }

    private struct Entry {
        let requester: HashingRequester
        let job: Job
    }

    /// The largest number of waiting jobs.
    static var limit: Int { 256 }
    static var limitPerAccount: Int { 8 }
    static var limitPerAddress: Int { 32 }

    private let workers: Int
    private var running = 0
    private var waiting: [Entry] = []

    init(workers: Int) {
        self.workers = workers
    }

    var count: Int { self.waiting.count }

    /// Adds a job. Beyond a limit, it drops the last job, in the queue's order, that counts for
    /// that limit.
    mutating func add(_ job: Job, _ requester: HashingRequester) -> Admission {
        if self.running < self.workers {
            self.running += 1
            return .starts
        }
        guard let rival = self.rival(of: requester) else {
            self.waiting.append(Entry(requester: requester, job: job))
            return .waits(instead: nil)
        }
        guard Self.isBefore(requester.rank, self.waiting[rival].requester.rank, isEarlier: false) else { return .full }
        let loser = self.waiting.remove(at: rival)
        self.waiting.append(Entry(requester: requester, job: job))
        return .waits(instead: loser.job)
    }

    /// The next job of a worker that has finished one; `nil` if the worker ends.
    mutating func next() -> Job? {
        guard let index = self.waiting.indices.min(by: self.goesBefore) else {
            self.running -= 1
            return nil
        }
        return self.waiting.remove(at: index).job
    }

    /// The waiting job that a new one competes with for a place: the last one of its account, of
    /// its address or of all, by the first limit that is reached; `nil` if there is room.
    private func rival(of requester: HashingRequester) -> Int? {
        if requester.account != nil,
            let rival = self.lastIfFull(of: Self.limitPerAccount, { $0.account == requester.account })
        {
            return rival
        }
        if requester.address != nil, requester.rank > 0,
            let rival = self.lastIfFull(of: Self.limitPerAddress, { $0.rank > 0 && $0.address == requester.address })
        {
            return rival
        }
        return self.lastIfFull(of: Self.limit) { _ in true }
    }

    /// The job that goes last among those that `isOne` selects, if there are at least `limit` of
    /// them.
    private func lastIfFull(of limit: Int, _ isOne: (HashingRequester) -> Bool) -> Int? {
        let ones = self.waiting.indices.filter { isOne(self.waiting[$0].requester) }
        guard ones.count >= limit else { return nil }
        return ones.max(by: self.goesBefore)
    }

    private func goesBefore(_ one: Int, _ other: Int) -> Bool {
        Self.isBefore(self.waiting[one].requester.rank, self.waiting[other].requester.rank, isEarlier: one < other)
    }

    /// Whether a job goes before another one. `isEarlier`: it was added before that one.
    ///
    /// The lower rank goes first. Among known requesters, of rank 0, the earliest goes first.
    /// Among strangers of the same rank, the latest goes first, so that a newcomer does not wait
    /// behind a burst of others.
    private static func isBefore(_ rank: Int, _ other: Int, isEarlier: Bool) -> Bool {
        if rank != other { return rank < other }
        return rank == 0 ? isEarlier : !isEarlier
    }
}
