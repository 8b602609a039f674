internal import Foundation
internal import PushCore
internal import PushStore

/// The pauses that servers share if they send the pushes of the same lane. A single server sends
/// the probe: a push that shows whether the provider has recovered.
extension LaneState {
    /// The delay, in seconds, before this server asks again whether it may send the probe. Until
    /// then, another server may send it.
    private static let probeDelay: TimeInterval = 0.5

    /// Whether other servers know of the pause, so that one server sends the probe for all.
    var isPauseShared: Bool { self.sharedPause != nil }

    /// The change of the pause that this server must report to the others; `nil` if they know it
    /// already, or if only this server pauses.
    ///
    /// A cause that an operator must fix may be this server's fault alone. Failures that begin
    /// again after another server's probe has ended the pause may also be this server's fault
    /// alone. In both cases this server pauses alone, so that it delays no other server.
    mutating func takePause(now: Date) -> LanePause.Ongoing?? {
        guard let pause, !pause.cause.needsOperator else {
            guard self.sharedPause.take() != nil, self.pause == nil else { return nil }
            return .some(nil)
        }
        guard pause != self.sharedPause, self.hasAnswerSinceLeaving else { return nil }
        self.sharedPause = pause
        return LanePause.Ongoing(pause, delayCount: self.health.delayCount, now: now)
    }

    /// Applies another server's latest report of a pause, each report only once, and none while
    /// the provider answers this server.
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
        // The provider has answered this server since that pause began. This function examines the
        // report again later, because this server's calls may be the next to fail.
        if self.health.contradicts(pause) { return }
        self.observedPause = report.number
        self.record(self.health.join(pause, delayCount: ongoing.delayCount, now: now))
        self.sharedPause = self.pause.flatMap { $0.cause.needsOperator ? nil : $0 }
    }

    /// Delays this server's next probe for a moment, because another server may send one.
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

extension LanePause.Ongoing {
    fileprivate init(_ pause: Pause, delayCount: Int, now: Date) {
        self.init(
            cause: pause.cause,
            reason: pause.reason,
            age: .seconds(now.timeIntervalSince(pause.since)),
            length: .seconds(pause.until.timeIntervalSince(now)),
            delayCount: delayCount
        )
    }

    fileprivate func pause(now: Date) -> Pause {
        Pause(
            self.cause,
            reason: self.reason,
            since: now - self.age.timeInterval,
            until: now + self.length.timeInterval
        )
    }
}
