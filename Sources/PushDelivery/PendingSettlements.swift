internal import PushCore
internal import PushStore

/// The settlements of pushes that have ended, gathered so that many share a commit.
struct PendingSettlements {
    typealias Entry = (LeasedDelivery, Settlement)

    /// So many are worth a commit at once.
    private static let worthACommit = 250

    private var gathered: [Entry] = []
    /// When the first of those ended.
    private var gatheredSince = ContinuousClock.now
    /// How many are being written down.
    private var writing = 0

    /// All that are not yet written down.
    var count: Int { self.gathered.count + self.writing }

    /// Whether there is news for the loop: the first, or as many as are worth a commit.
    var isNews: Bool { self.writing == 0 && [1, Self.worthACommit].contains(self.gathered.count) }

    mutating func add(_ entries: some Sequence<Entry>, at time: ContinuousClock.Instant) {
        if self.gathered.isEmpty { self.gatheredSince = time }
        self.gathered += entries
    }

    /// Takes the settlements that are due: all, if the first has waited that long, or there are many.
    mutating func beginWriting(after patience: Duration, at time: ContinuousClock.Instant) -> [Entry] {
        guard let wait = self.untilDue(after: patience, at: time) else { return [] }
        guard wait == .zero || self.gathered.count >= Self.worthACommit else { return [] }
        self.writing = self.gathered.count
        defer { self.gathered.removeAll(keepingCapacity: true) }
        return self.gathered
    }

    /// How long until the gathered settlements are due; `nil` if there are none, or the last write still runs.
    func untilDue(after patience: Duration, at time: ContinuousClock.Instant) -> Duration? {
        if self.writing > 0 || self.gathered.isEmpty { return nil }
        return max(patience - self.gatheredSince.duration(to: time), .zero)
    }

    /// Takes in that they are written down, all but those that could not be, which are gathered again.
    mutating func endWriting(butKeeping kept: [Entry]) {
        self.writing = 0
        self.gathered.insert(contentsOf: kept, at: 0)
    }
}
