internal import Foundation
internal import Logging
internal import SocketHTTP
internal import Synchronization

/// What became of credentials that were not remembered: counted for the metrics, and for one line in the log now and
/// then, as ten thousand guesses must not make ten thousand lines.
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
    /// By how much a time may be before the last line's, since who has waited brings its own; else a clock was put back.
    private static let slack: TimeInterval = 3600

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Counts, and logs what has failed since the last line. Names are not logged: some are passwords in the wrong place.
    func note(_ outcome: Outcome, from origin: PeerAddress?, now: Date) {
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
