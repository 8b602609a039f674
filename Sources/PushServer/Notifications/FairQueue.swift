/// A queue of jobs for a few workers, which serves the users in turn: a user with many jobs does
/// not delay one with few. It only decides; its caller runs the jobs.
struct FairQueue<Job: Sendable>: Sendable {
    enum Admission: Sendable, Hashable {
        /// The worker that runs the job at once.
        case starts(worker: Int)
        case waits
        /// Too many jobs wait, of this user or of all.
        case full
    }

    /// The largest number of waiting jobs.
    static var limit: Int { 256 }
    static var limitPerUser: Int { 8 }

    private var idle: [Int]
    private var waiting: [Int64: [Job]] = [:]
    /// The users with waiting jobs, in the order of their turns.
    private var turns: [Int64] = []
    private var count = 0

    init(workers: Int) {
        self.idle = Array((0..<workers).reversed())
    }

    mutating func add(_ job: Job, of user: Int64) -> Admission {
        if let worker = self.idle.popLast() { return .starts(worker: worker) }
        let ahead = self.waiting[user, default: []].count
        guard self.count < Self.limit, ahead < Self.limitPerUser else { return .full }
        if ahead == 0 { self.turns.append(user) }
        self.waiting[user, default: []].append(job)
        self.count += 1
        return .waits
    }

    /// The next job of a worker that has finished one; `nil` if the worker ends.
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
