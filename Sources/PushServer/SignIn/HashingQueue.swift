/// What a place in the queue for a hash goes by.
struct HashingClaim: Sendable, Hashable {
    /// Of the server's own, which passes everybody.
    static let own = HashingClaim(account: nil, address: nil, rank: 0)

    /// `nil`: counts in the sum only.
    let account: UInt64?
    let address: UInt64?
    /// The lowest first; 0 for those who are known, who do not count for their address.
    let rank: Int
}

/// Who waits for a password to be hashed, in what order, and who need not wait at all because there are too many.
struct HashingQueue<Job: Sendable>: Sendable {
    enum Admission {
        /// To be run at once, by one more worker.
        case starts
        /// Another may have had to make room, and is to be told.
        case waits(instead: Job?)
        case full
    }

    private struct Entry {
        let claim: HashingClaim
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

    /// Takes a job in. Where that would be too many, the last of them in the order has no place.
    mutating func add(_ job: Job, _ claim: HashingClaim) -> Admission {
        if self.running < self.workers {
            self.running += 1
            return .starts
        }
        guard let rival = self.rival(of: claim) else {
            self.waiting.append(Entry(claim: claim, job: job))
            return .waits(instead: nil)
        }
        guard Self.goesFirst(claim.rank, self.waiting[rival].claim.rank, isEarlier: false) else { return .full }
        let loser = self.waiting.remove(at: rival)
        self.waiting.append(Entry(claim: claim, job: job))
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
    private func rival(of claim: HashingClaim) -> Int? {
        if claim.account != nil,
            let rival = self.lastIfFull(of: Self.boundOfAccount, { $0.account == claim.account })
        {
            return rival
        }
        if claim.address != nil, claim.rank > 0,
            let rival = self.lastIfFull(of: Self.boundOfAddress, { $0.rank > 0 && $0.address == claim.address })
        {
            return rival
        }
        return self.lastIfFull(of: Self.bound) { _ in true }
    }

    /// The last in the order of those, if there are so many.
    private func lastIfFull(of bound: Int, _ isOne: (HashingClaim) -> Bool) -> Int? {
        let ones = self.waiting.indices.filter { isOne(self.waiting[$0].claim) }
        guard ones.count >= bound else { return nil }
        return ones.max(by: self.goesBefore)
    }

    private func goesBefore(_ one: Int, _ other: Int) -> Bool {
        Self.goesFirst(self.waiting[one].claim.rank, self.waiting[other].claim.rank, isEarlier: one < other)
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
