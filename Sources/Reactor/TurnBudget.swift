/// What one task may do on its loop before others get their turn.
///
/// ```swift
/// if budget.isSpent { await loop.yield() }
/// budget.spend(bytes: read())
/// ```
/// A real wait begins a new turn. A task that waits after two steps, as a request that came alone does, never pays for
/// the clock. On the loop only.
package struct TurnBudget {
    /// As many answers as are worth a turn of the loop, which costs about a twentieth of them.
    private static let steps = 32
    private static let bytes = 65_536
    /// Dear steps, such as signatures, take less of them. Of a hundred busy tasks each is back after 10 ms.
    private static let time = Duration.microseconds(100)
    /// What a request that came alone takes: one to read it, one to answer it.
    private static let freeSteps = 2

    private let loop: EventLoop
    private var job: UInt64 = 0
    private var steps = 0
    private var bytes = 0
    private var start: ContinuousClock.Instant?

    package init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Counts one thing that was done: a read, a write, an answer.
    package mutating func spend(bytes: Int = 0) {
        if self.job == self.loop.jobNumber {
            self.steps += 1
            self.bytes += bytes
            if self.steps > Self.freeSteps, self.start == nil { self.start = .now }
        } else {
            self.job = self.loop.jobNumber
            self.steps = 1
            self.bytes = bytes
            self.start = nil
        }
    }

    /// Whether this turn is over.
    package var isSpent: Bool {
        guard self.steps > Self.freeSteps || self.bytes >= Self.bytes, self.job == self.loop.jobNumber else {
            return false
        }
        if self.steps >= Self.steps || self.bytes >= Self.bytes { return true }
        return self.start.map { ContinuousClock.now - $0 >= Self.time } ?? false
    }
}
