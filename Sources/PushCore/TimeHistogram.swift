/// A histogram of durations with fixed bounds. It has no lock: its owner must protect it.
package struct TimeHistogram: Sendable, Hashable {
    /// The upper bounds of the buckets, in microseconds.
    package static let bounds: [Int64] = [
        500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000,
    ]

    /// The number of durations in each bucket; the last bucket is for durations above all bounds.
    package private(set) var counts = [Int](repeating: 0, count: TimeHistogram.bounds.count + 1)
    /// The sum of all durations.
    package private(set) var microseconds: Int64 = 0

    package init() {}

    package mutating func record(_ time: Duration) {
        let microseconds = Int64(clamping: time.attoseconds / 1_000_000_000_000)
        self.counts[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count] += 1
        self.microseconds &+= microseconds
    }

    /// The number of durations that were recorded.
    package var total: Int { self.counts.reduce(0, +) }
}
