internal import Synchronization

/// The duration of the longest turn of a loop (its work between two waits for events) in the
/// current and the previous minute.
///
/// The loop's thread writes, any thread reads.
struct LongestTurn: ~Copyable, Sendable {
    private static let minute: Int64 = 60_000_000_000
    /// Instants are kept as numbers of nanoseconds since this instant.
    private static let origin = ContinuousClock.now

    /// When the current minute began, in nanoseconds since `origin`.
    private let start = Atomic(LongestTurn.nanoseconds(.now))
    private let current = Atomic<Int64>(0)
    private let previous = Atomic<Int64>(0)

    /// Counts a turn that has ended. Call it on the loop's thread.
    func record(from begin: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        let now = Self.nanoseconds(end)
        let age = now - self.start.load(ordering: .relaxed)
        if age >= Self.minute {
            // A loop that had nothing to do for a minute had no long turn in that minute.
            self.previous.store(age < 2 * Self.minute ? self.current.load(ordering: .relaxed) : 0, ordering: .relaxed)
            self.current.store(0, ordering: .relaxed)
            self.start.store(now, ordering: .relaxed)
        }
        let turn = now - Self.nanoseconds(begin)
        if turn > self.current.load(ordering: .relaxed) { self.current.store(turn, ordering: .relaxed) }
    }

    /// The duration of the longest turn in the current and the previous minute; zero if the loop
    /// has had no turn for two minutes.
    func value(now: ContinuousClock.Instant) -> Duration {
        let age = Self.nanoseconds(now) - self.start.load(ordering: .relaxed)
        if age >= 2 * Self.minute { return .zero }
        let current = self.current.load(ordering: .relaxed)
        let previous = age < Self.minute ? self.previous.load(ordering: .relaxed) : 0
        return .nanoseconds(max(current, previous))
    }

    private static func nanoseconds(_ instant: ContinuousClock.Instant) -> Int64 {
        Int64(truncatingIfNeeded: (instant - Self.origin).attoseconds / 1_000_000_000)
    }
}
