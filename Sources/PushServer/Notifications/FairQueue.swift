/// A queue of jobs for a few workers, which serves the users in turn: a user with many jobs does
/// not delay a user with few jobs. The queue only decides which job is next; its caller runs the
/// jobs.
struct FairQueue<Job: Sendable>: Sendable {
    enum Admission: Sendable, Hashable {
        /// The worker that runs the job at once.
        case starts(worker: Int)
        case waits
        /// Too many jobs of this user, or too many jobs of all users, wait already.
        case full
    }

    /// The largest numbers of waiting jobs: of all users, and of one user.
    static var limit: Int { 256 }
    static var limitPerUser: Int { 8 }

    private var idle: [Int]
    private var waiting: [Int64: [Job]] = [:]
    /// The ids of the users with waiting jobs, in the order in which the users get their turns.
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

    /// The next job for a worker that has finished a job; `nil` if no job waits, so that the
    /// worker ends.
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
