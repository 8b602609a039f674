internal import Foundation
internal import PushCore
internal import PushStore

/// The pauses that the servers of a lane are in together, and for which one of them sends the probe.
extension LaneState {
    /// The delay before this server asks again for a probe that another server has.
    private static let probeDelay: TimeInterval = 0.5

    /// Whether others know of the pause, so that one server probes for all.
    var isPauseShared: Bool { self.sharedPause != nil }

    /// What the others must be told of the pause; `nil` if they know it, or if it is this server's own.
    ///
    /// What an operator must fix may be this server's fault alone. So may failures that begin again though the probe of another
    /// server has ended the pause: such a server pauses for itself, and holds up nobody.
    mutating func takePause(now: Date) -> LanePause.Ongoing?? {
        guard let pause, !pause.cause.needsOperator else {
            guard self.sharedPause.take() != nil, self.pause == nil else { return nil }
            return .some(nil)
        }
        guard pause != self.sharedPause, self.hasAnswerSinceLeaving else { return nil }
        self.sharedPause = pause
        return LanePause.Ongoing(pause, rests: self.health.rests, now: now)
    }

    /// Applies what another server has told last, once, unless the provider answers here.
    mutating func observe(_ told: LanePause, now: Date) {
        guard told.number != self.observedPause else { return }
        guard let ongoing = told.ongoing else {
            self.observedPause = told.number
            guard self.sharedPause.take() != nil else { return }
            self.leftAt = now
            self.note(self.health.leave())
            self.pacer?.beginRise(now: now)
            return
        }
        let pause = ongoing.pause(now: now)
        // It is looked at again, as this server may be the next to fail.
        if self.health.contradicts(pause) { return }
        self.observedPause = told.number
        self.note(self.health.join(pause, rests: ongoing.rests, now: now))
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
