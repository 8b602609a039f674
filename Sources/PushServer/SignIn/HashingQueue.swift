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
        var last: Int?
        if let rival = self.lastIfFull(of: Self.boundOfAccount, { $0.account == claim.account && $0.account != nil }) {
            last = rival
        } else if claim.rank > 0, claim.address != nil,
            let rival = self.lastIfFull(of: Self.boundOfAddress, { $0.rank > 0 && $0.address == claim.address })
        {
            last = rival
        } else if let rival = self.lastIfFull(of: Self.bound, { _ in true }) {
            last = rival
        }
        guard let last else {
            self.waiting.append(Entry(claim: claim, job: job))
            return .waits(instead: nil)
        }
        let rank = self.waiting[last].claim.rank
        guard claim.rank < rank || claim.rank == rank && rank > 0 else { return .full }
        let loser = self.waiting.remove(at: last)
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

    /// The last in the order of those, if there are so many.
    private func lastIfFull(of bound: Int, _ isOne: (HashingClaim) -> Bool) -> Int? {
        let ones = self.waiting.indices.filter { isOne(self.waiting[$0].claim) }
        guard ones.count >= bound else { return nil }
        return ones.max(by: self.goesBefore)
    }

    /// The order. Of strangers that are equal the latest goes first: after a burst of new ones, whoever then comes does not
    /// stand behind all of them.
    private func goesBefore(_ one: Int, _ other: Int) -> Bool {
        let (rank, otherRank) = (self.waiting[one].claim.rank, self.waiting[other].claim.rank)
        return rank == otherRank ? (rank == 0) == (one < other) && one != other : rank < otherRank
    }
}
