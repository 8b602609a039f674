internal import Foundation
internal import Synchronization

/// Limits the number of requests within a period, separately for each key.
final class RateLimit: Sendable {
    private struct State {
        var limit: Int?
        /// For each key, the times at which the last requests were admitted, oldest first.
        var times: [String: ArraySlice<Date>] = [:]
    }

    private let window: TimeInterval
    // A lock protects `state`. The lock is held only briefly.
    private let state = Mutex(State())

    init(window: TimeInterval) {
        self.window = window
    }

    /// Sets the limit and clears the counts; `nil` removes the limit.
    func setLimit(_ limit: Int?) {
        self.state.withLock { $0 = State(limit: limit) }
    }

    /// Whether one more request is admitted; if so, it is counted.
    func admits(_ key: String = "", now: Date) -> Bool {
        self.state.withLock { state in
            guard let limit = state.limit else { return true }
            return self.admits(&state.times[key, default: []], limit, now)
        }
    }

    private func admits(_ times: inout ArraySlice<Date>, _ limit: Int, _ now: Date) -> Bool {
        while let first = times.first, now.timeIntervalSince(first) >= self.window { times.removeFirst() }
        guard times.count < limit else { return false }
        times.append(now)
        return true
    }
}
