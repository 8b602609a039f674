/// The requester of a password hash; it determines the place of the hash in the queue.
struct HashingRequester: Sendable, Hashable {
    /// The account and the address of the requester, as hashes. If both are `nil`, the job counts
    /// only for the limit of all jobs.
    let account: UInt64?
    let address: UInt64?
    /// Jobs of the lowest rank go first. The rank is 0 for a new password, and for an address that
    /// has signed in to the account before. A job of rank 0 does not count for the limit of its
    /// address.
    let rank: Int
}

/// The queue of passwords to hash: its order, and its limits for each account, for each address
/// and in total.
struct HashingQueue<Job: Sendable>: Sendable {
    enum Admission {
        /// The job runs at once, on one more worker.
        case starts
        /// The job waits. `instead` is the job that was dropped to make room, or `nil`; the caller
        /// must refuse this job.
        case waits(instead: Job?)
        case full
    }

    private struct Entry {
        let requester: HashingRequester
        let job: Job
    }

    /// The largest numbers of waiting jobs: in total, of one account, and of one address.
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

    /// Adds a job. If a limit is reached, drops the new job or one of the jobs that count for this
    /// limit: the one that would run last.
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

    /// The next job for a worker that has finished a job; `nil` if no job waits, so that the
    /// worker ends.
    mutating func next() -> Job? {
        guard let index = self.waiting.indices.min(by: self.goesBefore) else {
            self.running -= 1
            return nil
        }
        return self.waiting.remove(at: index).job
    }

    /// The waiting job that a new job competes with for a place; `nil` if there is room. If the
    /// limit of the requester's account is reached, this rival is the last job of the account.
    /// Otherwise the limit of the address, and then the limit of all jobs, decide in the same way.
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

    /// The job that goes last among those that `isOne` selects; `nil` if `isOne` selects fewer
    /// than `limit` jobs.
    private func lastIfFull(of limit: Int, _ isOne: (HashingRequester) -> Bool) -> Int? {
        let ones = self.waiting.indices.filter { isOne(self.waiting[$0].requester) }
        guard ones.count >= limit else { return nil }
        return ones.max(by: self.goesBefore)
    }

    private func goesBefore(_ one: Int, _ other: Int) -> Bool {
        Self.isBefore(self.waiting[one].requester.rank, self.waiting[other].requester.rank, isEarlier: one < other)
    }

    /// Whether a job of the rank `rank` goes before a job of the rank `other`. `isEarlier` says
    /// whether the first of these jobs was added before the second.
    ///
    /// A lower rank goes first. Among jobs of rank 0, whose requesters are known, the earliest
    /// goes first. Among strangers' jobs of the same rank, the latest goes first, so that a
    /// newcomer does not wait behind a burst of other strangers' jobs.
    private static func isBefore(_ rank: Int, _ other: Int, isEarlier: Bool) -> Bool {
        if rank != other { return rank < other }
        return rank == 0 ? isEarlier : !isEarlier
    }
}
