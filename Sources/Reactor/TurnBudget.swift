/// How much work one task may do on its event loop before the loop runs other tasks.
///
/// ```swift
/// if budget.isSpent { await loop.yield() }
/// budget.spend(bytes: read())
/// ```
/// A wait that suspends the task begins a new turn. The clock is read only from the third step of
/// a turn on, so never for a task that serves a single request: it takes two steps and then waits.
///
/// It is a class, because copying a struct at each reading of `isSpent` costs more than computing
/// `isSpent`. Use the budget on the loop only.
package final class TurnBudget {
    /// The maximum number of steps in one turn. With so many answers in a turn, the loop's own
    /// work costs only about a twentieth as much as the answers.
    private static let steps = 32
    private static let bytes = 65_536
    /// The longest time of one turn. With costly steps, such as signatures, a task reaches this
    /// limit before the limit of the number of steps. With a hundred busy tasks, each gets its
    /// turn every 10 ms.
    private static let time = Duration.microseconds(100)
    /// The steps of a single request: one to read it, one to answer it.
    private static let freeSteps = 2

    private let loop: EventLoop
    private var job: UInt64 = 0
    private var steps = 0
    private var bytes = 0
    /// The time of the first step that is not free. It is not optional, because an optional
    /// instant is slow to copy.
    @exclusivity(unchecked) private var start = ContinuousClock.now
    private var isTimed = false

    package init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Counts one step: a read, a write, an answer.
    package func spend(bytes: Int = 0) {
        if self.job == self.loop.jobNumber {
            self.steps += 1
            self.bytes += bytes
            if self.steps > Self.freeSteps, !self.isTimed {
                self.start = .now
                self.isTimed = true
            }
        } else {
            self.job = self.loop.jobNumber
            self.steps = 1
            self.bytes = bytes
            self.isTimed = false
        }
    }

    /// Whether this turn is over.
    package var isSpent: Bool {
        guard self.steps > Self.freeSteps || self.bytes >= Self.bytes, self.job == self.loop.jobNumber else {
            return false
        }
        if self.steps >= Self.steps || self.bytes >= Self.bytes { return true }
        return self.isTimed && ContinuousClock.now - self.start >= Self.time
    }
}
