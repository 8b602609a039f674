internal import Foundation
internal import PushCore
internal import PushStore

/// Pauses that the servers of a lane share. A single server sends the probe for all.
extension LaneState {
    /// The delay before this server asks again for a probe that another server has.
    private static let probeDelay: TimeInterval = 0.5

    /// Whether other servers know of the pause, so that one server probes for all.
    var isPauseShared: Bool { self.sharedPause != nil }

    /// The change of the pause that the other servers must know; `nil` if they know it, or if only
    /// this server pauses.
    ///
    /// A cause that an operator must fix may be this server's fault alone. So may failures that
    /// begin again after another server's probe has ended the pause. In both cases this server
    /// pauses alone, and delays no other server.
    mutating func takePause(now: Date) -> LanePause.Ongoing?? {
        guard let pause, !pause.cause.needsOperator else {
            guard self.sharedPause.take() != nil, self.pause == nil else { return nil }
            return .some(nil)
        }
        guard pause != self.sharedPause, self.hasAnswerSinceLeaving else { return nil }
        self.sharedPause = pause
        return LanePause.Ongoing(pause, delayCount: self.health.delayCount, now: now)
    }

    /// Applies another server's latest report of a pause, once, unless the provider still answers
    /// this server.
    mutating func observe(_ report: LanePause, now: Date) {
        guard report.number != self.observedPause else { return }
        guard let ongoing = report.ongoing else {
            self.observedPause = report.number
            guard self.sharedPause.take() != nil else { return }
            self.leftAt = now
            self.record(self.health.leave())
            self.pacer?.beginRise(now: now)
            return
        }
        let pause = ongoing.pause(now: now)
        // The report is examined again later, as this server may be the next to fail.
        if self.health.contradicts(pause) { return }
        self.observedPause = report.number
        self.record(self.health.join(pause, delayCount: ongoing.delayCount, now: now))
        self.sharedPause = self.pause.flatMap { $0.cause.needsOperator ? nil : $0 }
    }

    /// Leaves the probe to another server for a moment.
    mutating func postponeProbe(now: Date) {
        self.health.postpone(until: now + Self.probeDelay)
        if self.isPauseShared { self.sharedPause = self.pause }
    }

    // MARK: - Private

    private var hasAnswerSinceLeaving: Bool {
        guard let leftAt = self.leftAt else { return true }
        return self.health.answeredAt.map { $0 > leftAt } ?? false
    }
}
