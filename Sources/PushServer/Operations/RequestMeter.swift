internal import Synchronization

/// Counts the answers of one route by their status, and how long they took: from the request's head to the answer's.
final class RequestMeter: Sendable {
    /// The upper bounds of the histogram's buckets, in microseconds, which `MetricHandler` shows as seconds.
    private static let bounds: [Int64] = [
        500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000,
    ]

    private struct Counts {
        /// Few, and so faster than a dictionary.
        var answers: [(status: Int, count: Int)] = []
        /// One for each bound, and one for what took longer.
        var times = [Int](repeating: 0, count: RequestMeter.bounds.count + 1)
        var microseconds: Int64 = 0

        mutating func count(_ status: Int) {
            if let index = self.answers.firstIndex(where: { $0.status == status }) {
                self.answers[index].count += 1
            } else {
                self.answers.append((status, 1))
            }
        }
    }

    private let counts = Mutex(Counts())

    func note(_ status: Int, after time: Duration) {
        let (seconds, attoseconds) = time.components
        let microseconds = seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
        self.counts.withLock { counts in
            counts.count(status)
            counts.times[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count] += 1
            counts.microseconds &+= microseconds
        }
    }

    /// Counts the refusal of what never became a request, whose time is not known.
    func note(_ status: Int) {
        self.counts.withLock { $0.count(status) }
    }

    /// The samples of a route, none if it was never asked for. `route`: its path as the documentation has it.
    func samples(_ method: String, _ route: String) -> [MetricSample] {
        let counts = self.counts.withLock { $0 }
        let answers = counts.answers.map { answer in
            MetricSample(
                .requests,
                ["method": method, "route": route, "status": "\(answer.status)"],
                Double(answer.count)
            )
        }
        let total = counts.times.reduce(0, +)
        if total == 0 { return answers }
        var sum = 0
        let buckets = zip(Self.bounds.map { "\(Double($0) / 1_000_000)" } + ["+Inf"], counts.times).map {
            bound,
            count in
            sum += count
            return MetricSample(
                .requestTime,
                ["method": method, "route": route, "le": bound],
                Double(sum),
                suffix: "_bucket"
            )
        }
        let labels: KeyValuePairs = ["method": method, "route": route]
        return answers + buckets + [
            MetricSample(.requestTime, labels, Double(counts.microseconds) / 1_000_000, suffix: "_sum"),
            MetricSample(.requestTime, labels, Double(total), suffix: "_count"),
        ]
    }
}
