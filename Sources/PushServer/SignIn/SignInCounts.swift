internal import Foundation
internal import Logging
internal import SocketHTTP
internal import Synchronization

/// Counts the outcomes of sign-ins with credentials that were not cached, for the metrics and for
/// one log line at intervals: ten thousand guesses must not make ten thousand lines.
final class SignInCounts: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        case right, wrong, throttled, busy
    }

    private struct State {
        var counts: [Outcome: Int] = [:]
        var logged: [Outcome: Int] = [:]
        var loggedAt = Date.distantPast
    }

    /// Seconds between two lines.
    private static let interval: TimeInterval = 10
    /// Seconds by which a time may precede the last line's, since a request that has waited has an
    /// earlier time. A larger difference means that the clock was set back.
    private static let slack: TimeInterval = 3600

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Counts an outcome, and logs the failures since the last line. Does not log names: some are
    /// passwords in the wrong place.
    func record(_ outcome: Outcome, from origin: PeerAddress?, now: Date) {
        let news: [Outcome: Int]? = self.state.withLock { state in
            state.counts[outcome, default: 0] += 1
            let elapsed = now.timeIntervalSince(state.loggedAt)
            let isDue = elapsed >= Self.interval || elapsed < -Self.slack
            guard outcome != .right, isDue else { return nil }
            state.loggedAt = now
            defer { state.logged = state.counts }
            return state.counts.merging(state.logged) { $0 - $1 }
        }
        guard let news else { return }
        self.logger.notice(
            "sign-ins failed",
            metadata: [
                "wrong": "\(news[.wrong] ?? 0)", "throttled": "\(news[.throttled] ?? 0)",
                "busy": "\(news[.busy] ?? 0)", "latest": "\(origin?.description ?? "unknown")",
            ]
        )
    }

    var samples: [MetricSample] {
        let counts = self.state.withLock { $0.counts }
        return Outcome.allCases.map { outcome in
            MetricSample(.signIns, ["outcome": outcome.rawValue], Double(counts[outcome] ?? 0))
        }
    }
}
