internal import HTTPTypes
internal import Synchronization

/// The counts of all requests of a server.
final class RequestMeters: Sendable {
    /// The parts of a route that the metrics show. An entry does not refer to the route itself:
    /// the route of the metrics refers to this object, so a reference back would keep both in
    /// memory.
    private struct Entry: Sendable {
        let method: String
        let path: String
        let meter: RequestMeter
    }

    /// Counts the answers to requests without a route.
    let others = RequestMeter()
    /// The number of requests that are being answered.
    let running = Atomic(0)
    private let entries = Mutex<[Entry]>([])

    /// Makes the metrics show the counts of these routes from now on.
    func show(_ routes: [Route]) {
        let entries = routes.map { Entry(method: $0.method.rawValue, path: $0.path, meter: $0.meter) }
        self.entries.withLock { $0 = entries }
    }

    var samples: [MetricSample] {
        let entries = self.entries.withLock { $0 }
        return [MetricSample(.requestsRunning, [:], Double(self.running.load(ordering: .relaxed)))]
            + self.others.samples("", "") + entries.flatMap { $0.meter.samples($0.method, $0.path) }
    }
}
