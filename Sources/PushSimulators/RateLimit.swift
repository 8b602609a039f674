internal import Foundation
internal import Synchronization

/// Admits so many requests within a time, of each key by itself.
final class RateLimit: Sendable {
    private struct State {
        var limit: Int?
        /// When the last requests were admitted, oldest first.
        var times: [String: ArraySlice<Date>] = [:]
    }

    private let window: TimeInterval
    // A lock: each use is short.
    private let state = Mutex(State())

    init(window: TimeInterval) {
        self.window = window
    }

    /// Forgets the requests so far; `nil`: as many as one likes.
    func setLimit(_ limit: Int?) {
        self.state.withLock { $0 = State(limit: limit) }
    }

    /// Whether one more is admitted, and counts it then.
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
