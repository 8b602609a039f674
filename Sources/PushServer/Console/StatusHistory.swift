package import Foundation
internal import PushCore
package import PushStore
internal import Synchronization

/// The numbers of posts, pushes and fetches in each step of the last hour. They are kept in memory
/// only, and are empty after a restart.
///
/// The numbers of pushes are those of all servers that share the database. The numbers of posts
/// and fetches are those of this server.
package final class StatusHistory: Sendable {
    static let step = Duration.seconds(15)
    /// The number of steps in an hour.
    static let count = 240

    /// The number of notifications that this server has stored since its start, and the number of
    /// payloads that it has returned.
    private let posted = Atomic(0)
    private let fetched = Atomic(0)

    /// What happened in one step; `pending` is the number of pushes that wait at the step's end.
    struct Step: Sendable, Hashable {
        var posted = 0
        var accepted = 0
        var failed = 0
        var fetched = 0
        var pending = 0
    }

    private struct State {
        /// The counts of posts, pushes and fetches, as they were last read; `nil` before they are
        /// read for the first time.
        var sums: Step?
        /// The number of the last step; steps are numbered from 1970 on. `steps` has the steps by
        /// their numbers.
        var last: Int64?
        var steps: [Int64: Step] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    func countPost() {
        self.posted.wrappingAdd(1, ordering: .relaxed)
    }

    func countFetch() {
        self.fetched.wrappingAdd(1, ordering: .relaxed)
    }

    /// Reads the counts of posts, pushes and fetches at the end of each step, until the task is
    /// cancelled.
    package func run(_ reader: any OutboxReader, now: @Sendable () -> Date) async {
        while !Task.isCancelled {
            // If the tallies (the counts of pushes) cannot be read now, the next step includes the
            // changes of this step. Looks do not count: a look is a silent push that only makes a
            // device fetch changes.
            let tallies = try? await reader.tallies().filter { !Lane(stored: $0.key).isOfLooks }
            if let tallies { self.record(tallies.values, at: now()) }
            let rest = Self.seconds - now().timeIntervalSince1970.truncatingRemainder(dividingBy: Self.seconds)
            // A shutdown cancels the task, which interrupts the sleep; then the loop's condition
            // ends the loop.
            try? await Task.sleep(for: .seconds(rest))
        }
    }

    /// Records the step that ends now: what has changed since the counts were last read.
    func record(_ tallies: some Sequence<Tally>, at now: Date) {
        var sums = Step(
            posted: self.posted.load(ordering: .relaxed),
            fetched: self.fetched.load(ordering: .relaxed)
        )
        for tally in tallies {
            sums.accepted += Int(tally.accepted)
            sums.failed += Int(tally.failed)
            sums.pending += Int(tally.pending)
        }
        let number = Self.number(of: now)
        self.state.withLock { state in
            if let before = state.sums, number != state.last {
                state.steps[number] = Step(
                    posted: sums.posted - before.posted,
                    accepted: sums.accepted - before.accepted,
                    failed: sums.failed - before.failed,
                    fetched: sums.fetched - before.fetched,
                    pending: sums.pending
                )
            }
            guard number != state.last else { return }
            (state.sums, state.last) = (sums, number)
            state.steps = state.steps.filter { number - $0.key < Self.count }
        }
    }

    /// The steps of the last hour, the oldest first, and the time at which the last step ended. A
    /// step is `nil` if the server did not run during the step.
    func steps(at now: Date) -> (steps: [Step?], end: Date) {
        let end = Self.number(of: now)
        let steps = self.state.withLock { $0.steps }
        let numbers = (end - Int64(Self.count) + 1)...end
        return (numbers.map { steps[$0] }, Date(timeIntervalSince1970: Double(end) * Self.seconds))
    }

    private static var seconds: TimeInterval { TimeInterval(Self.step.components.seconds) }

    private static func number(of now: Date) -> Int64 {
        Int64(exactly: (now.timeIntervalSince1970 / self.seconds).rounded(.down)) ?? 0
    }
}
