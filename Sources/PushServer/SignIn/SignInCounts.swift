internal import Foundation
internal import Logging
internal import SocketHTTP
internal import Synchronization

/// Counts the outcomes of sign-ins with credentials that were not cached. The metrics show the
/// counts. The log gets one line with the counts at intervals: ten thousand guesses must not make
/// ten thousand lines.
final class SignInCounts: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        case right, wrong, throttled, busy
    }

    private struct State {
        var counts: [Outcome: Int] = [:]
        var logged: [Outcome: Int] = [:]
        var loggedAt = Date.distantPast
        /// For each kind of fault, the number of faults since the last line of the log about this
        /// kind, and the time of that line.
        var faults: [TokenFault.Kind: (count: Int, loggedAt: Date)] = [:]
    }

    /// The smallest number of seconds between two lines of the log.
    private static let interval: TimeInterval = 10
    /// The number of seconds by which the time of a request may precede the time of the last line,
    /// because a request that has waited has an earlier time. A larger difference means that the
    /// clock was set back.
    private static let slack: TimeInterval = 3600

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Counts an outcome. If a line of the log is due, logs the number of failures since the last
    /// line. Does not log names: some users type their password in place of the name.
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

    /// Logs what does not match in a refused token of the issuer, with the number of tokens that
    /// were refused for the same kind of fault since the last line. The line contains neither the
    /// token nor the subject and the name in it.
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

    /// Whether the next line of the log may follow a line that was written at `loggedAt`.
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
