internal import PushCore
internal import Synchronization

/// Counts the answers of one route by status, and measures the time from the head of a request to
/// the head of its answer.
final class RequestMeter: Sendable {
    private struct Counts {
        /// This is an array, which is faster than a dictionary for so few entries.
        var answers: [(status: Int, count: Int)] = []
        var times = TimeHistogram()

        mutating func count(_ status: Int) {
            if let index = self.answers.firstIndex(where: { $0.status == status }) {
                self.answers[index].count += 1
            } else {
                self.answers.append((status, 1))
            }
        }
    }

    private let counts = Mutex(Counts())

    func record(_ status: Int, after time: Duration) {
        self.counts.withLock { counts in
            counts.count(status)
            counts.times.record(time)
        }
    }

    /// Counts a refusal of a request that was not read; the time of the answer is unknown.
    func record(_ status: Int) {
        self.counts.withLock { $0.count(status) }
    }

    /// The samples of a route, or none if no request has used it. `route` is the route's path as
    /// documented, with `{id}` for an id.
    func samples(_ method: String, _ route: String) -> [MetricSample] {
        let counts = self.counts.withLock { $0 }
        let answers = counts.answers.map { answer in
            MetricSample(
                .requests,
                ["method": method, "route": route, "status": "\(answer.status)"],
                Double(answer.count)
            )
        }
        return answers + counts.times.samples(.requestTime, [["method", method], ["route", route]])
    }
}
