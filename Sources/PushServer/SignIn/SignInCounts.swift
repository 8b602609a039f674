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
        /// For each kind, the number of faults since the last line about that kind.
        var faults: [TokenFault.Kind: (count: Int, loggedAt: Date)] = [:]
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
            guard outcome != .right, Self.isDue(after: state.loggedAt, now: now) else { return nil }
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

    /// Logs what does not match in a refused token of the issuer, with the number of tokens since
    /// the last line of that kind. The line has neither the token nor its subject and name.
    func record(_ fault: TokenFault, from origin: PeerAddress?, now: Date) {
        let count: Int? = self.state.withLock { state in
            var (count, loggedAt) = state.faults[fault.kind] ?? (0, .distantPast)
            count += 1
            let isDue = Self.isDue(after: loggedAt, now: now)
            state.faults[fault.kind] = isDue ? (0, now) : (count, loggedAt)
            return isDue ? count : nil
        }
        guard let count else { return }
        var fields: Logger.Metadata = [
            "mismatch": "\(fault.kind.rawValue)", "reason": "\(fault.detail.clipped(to: 200))",
            "tokens": "\(count)", "latest": "\(origin?.description ?? "unknown")",
        ]
        if let found = fault.found { fields["found"] = "\(found.clipped(to: 200))" }
        if let expected = fault.expected { fields["expected"] = "\(expected.clipped(to: 500))" }
        self.logger.notice("issuer's token refused", metadata: fields)
    }

    /// Whether the next line may follow one of that time.
    private static func isDue(after loggedAt: Date, now: Date) -> Bool {
        let elapsed = now.timeIntervalSince(loggedAt)
        return elapsed >= self.interval || elapsed < -self.slack
    }

    var samples: [MetricSample] {
        let counts = self.state.withLock { $0.counts }
        return Outcome.allCases.map { outcome in
            MetricSample(.signIns, ["outcome": outcome.rawValue], Double(counts[outcome] ?? 0))
        }
    }
}
