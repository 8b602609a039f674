/// For whom a password is hashed, which decides the place in the queue.
struct HashingRequester: Sendable, Hashable {
    /// `nil`: counts in the sum only.
    let account: UInt64?
    let address: UInt64?
    /// The lowest goes first; 0 for a requester whose address is known, which does not count for the address's bound.
    let rank: Int
}

/// The queue of passwords to be hashed: its order, and its bounds for an account, an address and in all.
struct HashingQueue<Job: Sendable>: Sendable {
    enum Admission {
        /// To be run at once, by one more worker.
        case starts
        /// Another may have had to make room, and is to be told.
        case waits(instead: Job?)
        case full
    }

    private struct Entry {
        let requester: HashingRequester
        let job: Job
    }

    /// How many wait, at most.
    static var bound: Int { 256 }
    static var boundOfAccount: Int { 8 }
    static var boundOfAddress: Int { 32 }

    private let workers: Int
    private var running = 0
    private var waiting: [Entry] = []

    init(workers: Int) {
        self.workers = workers
    }

    var count: Int { self.waiting.count }

    /// Adds a job. When a bound is exceeded, the last job in the order that counts for it is dropped.
    mutating func add(_ job: Job, _ requester: HashingRequester) -> Admission {
        if self.running < self.workers {
            self.running += 1
            return .starts
        }
        guard let rival = self.rival(of: requester) else {
            self.waiting.append(Entry(requester: requester, job: job))
            return .waits(instead: nil)
        }
        guard Self.goesFirst(requester.rank, self.waiting[rival].requester.rank, isEarlier: false) else { return .full }
        let loser = self.waiting.remove(at: rival)
        self.waiting.append(Entry(requester: requester, job: job))
        return .waits(instead: loser.job)
    }

    /// What a worker does next that has finished; `nil`: it ends.
    mutating func next() -> Job? {
        guard let index = self.waiting.indices.min(by: self.goesBefore) else {
            self.running -= 1
            return nil
        }
        return self.waiting.remove(at: index).job
    }

    /// The waiting job that a new one competes with for a place: the last of its account's, of its address's or of all,
    /// whichever bound is reached first; `nil` if there is room.
    private func rival(of requester: HashingRequester) -> Int? {
        if requester.account != nil,
            let rival = self.lastIfFull(of: Self.boundOfAccount, { $0.account == requester.account })
        {
            return rival
        }
        if requester.address != nil, requester.rank > 0,
            let rival = self.lastIfFull(of: Self.boundOfAddress, { $0.rank > 0 && $0.address == requester.address })
        {
            return rival
        }
        return self.lastIfFull(of: Self.bound) { _ in true }
    }

    /// The last in the order of those, if there are so many.
    private func lastIfFull(of bound: Int, _ isOne: (HashingRequester) -> Bool) -> Int? {
        let ones = self.waiting.indices.filter { isOne(self.waiting[$0].requester) }
        guard ones.count >= bound else { return nil }
        return ones.max(by: self.goesBefore)
    }

    private func goesBefore(_ one: Int, _ other: Int) -> Bool {
        Self.goesFirst(self.waiting[one].requester.rank, self.waiting[other].requester.rank, isEarlier: one < other)
    }

    /// Whether a job goes before another one, which it is earlier than or later.
    ///
    /// The lower rank goes first. Of the known, whose rank is 0, the earliest does; of strangers of one rank the latest: a
    /// newcomer does not stand behind a burst of others.
    private static func goesFirst(_ rank: Int, _ other: Int, isEarlier: Bool) -> Bool {
        if rank != other { return rank < other }
        return rank == 0 ? isEarlier : !isEarlier
    }
}
