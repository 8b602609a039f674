/// Jobs that wait for one of a few workers, in turn by user: a user with many does not stand before one with few. Decides;
/// does nothing.
struct FairQueue<Job: Sendable>: Sendable {
    enum Admission: Sendable, Hashable {
        /// To be run at once, by that worker.
        case starts(worker: Int)
        case waits
        /// Too many wait, of this user or of all.
        case full
    }

    /// How many wait, at most.
    static var bound: Int { 256 }
    static var boundOfUser: Int { 8 }

    private var idle: [Int]
    private var waiting: [Int64: [Job]] = [:]
    /// The users of those who wait, whoever is next first.
    private var turns: [Int64] = []
    private var count = 0

    init(workers: Int) {
        self.idle = Array((0..<workers).reversed())
    }

    mutating func add(_ job: Job, of user: Int64) -> Admission {
        if let worker = self.idle.popLast() { return .starts(worker: worker) }
        let ahead = self.waiting[user, default: []].count
        guard self.count < Self.bound, ahead < Self.boundOfUser else { return .full }
        if ahead == 0 { self.turns.append(user) }
        self.waiting[user, default: []].append(job)
        self.count += 1
        return .waits
    }

    /// What a worker does next that has finished; `nil`: it ends.
    mutating func next(for worker: Int) -> Job? {
        guard !self.turns.isEmpty else {
            self.idle.append(worker)
            return nil
        }
        let user = self.turns.removeFirst()
        var jobs = self.waiting[user] ?? []
        let job = jobs.isEmpty ? nil : jobs.removeFirst()
        self.waiting[user] = jobs.isEmpty ? nil : jobs
        if !jobs.isEmpty { self.turns.append(user) }
        self.count -= 1
        return job
    }
}
