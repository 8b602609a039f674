internal import HTTPTypes
internal import Synchronization

/// What is counted of all requests of a server.
final class RequestMeters: Sendable {
    /// Of a route only what is shown of it: one of the routes shows all of them, and would keep itself alive.
    private struct Entry: Sendable {
        let method: String
        let path: String
        let meter: RequestMeter
    }

    /// The answers to what has no route.
    let others = RequestMeter()
    /// The number of requests that are being answered.
    let running = Atomic(0)
    private let entries = Mutex<[Entry]>([])

    /// Shows what these routes count.
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
