internal import PushCore
internal import PushStore

/// The settlements (outcomes of pushes) that are not yet stored. They are gathered, so that many
/// of them share a commit.
struct PendingSettlements {
    typealias Entry = (LeasedDelivery, Settlement)

    /// As soon as this number of settlements is gathered, they are committed without a delay.
    private static let worthACommit = 250

    private var gathered: [Entry] = []
    /// The time at which the first of the gathered settlements was added.
    private var gatheredSince = ContinuousClock.now
    /// The number of settlements that are being stored.
    private var writing = 0

    /// The number of settlements that are not yet stored.
    var count: Int { self.gathered.count + self.writing }

    /// Whether the loop must check the settlements: when the first one was added, or when there
    /// are enough for a commit.
    var isNews: Bool { self.writing == 0 && [1, Self.worthACommit].contains(self.gathered.count) }

    mutating func add(_ entries: some Sequence<Entry>, at time: ContinuousClock.Instant) {
        if self.gathered.isEmpty { self.gatheredSince = time }
        self.gathered += entries
    }

    /// Returns all gathered settlements, if the first has waited for `delay` or there are enough
    /// for a commit.
    mutating func beginWriting(after delay: Duration, at time: ContinuousClock.Instant) -> [Entry] {
        guard let wait = self.untilDue(after: delay, at: time) else { return [] }
        guard wait == .zero || self.gathered.count >= Self.worthACommit else { return [] }
        self.writing = self.gathered.count
        defer { self.gathered.removeAll(keepingCapacity: true) }
        return self.gathered
    }

    /// The time until the gathered settlements are due; `nil` if no settlements are gathered, or
    /// while a write is running.
    func untilDue(after delay: Duration, at time: ContinuousClock.Instant) -> Duration? {
        if self.writing > 0 || self.gathered.isEmpty { return nil }
        return max(delay - self.gatheredSince.duration(to: time), .zero)
    }

    /// Ends the write that `beginWriting` began; `kept` has the settlements that could not be
    /// stored, which are gathered again.
    mutating func endWriting(butKeeping kept: [Entry]) {
        self.writing = 0
        self.gathered.insert(contentsOf: kept, at: 0)
    }
}
