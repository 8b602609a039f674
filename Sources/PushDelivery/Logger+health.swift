internal import CivilTime
internal import Foundation
internal import Logging
internal import PushCore

extension Logger {
    /// If a pause is prolonged by at least this number of seconds, the log gets a line at the
    /// level `info`.
    private static let longDelay: TimeInterval = 60

    /// Logs an event of a lane's health.
    func log(_ event: HealthEvent, of lane: Lane) {
        let metadata: Logger.Metadata = ["lane": "\(lane)"]
        switch event {
        case .paused(let pause):
            self.warning("lane paused", metadata: metadata.merging(pause.metadata) { own, _ in own })
        case .changed(_, let pause):
            self.warning(
                "lane still paused, for another reason",
                metadata: metadata.merging(pause.metadata) { own, _ in own }
            )
        case .prolonged(let pause, let delay):
            self.log(
                level: delay < Self.longDelay ? .debug : .info,
                "lane still paused",
                metadata: metadata.merging(pause.metadata) { own, _ in own }
            )
        case .resumed(let pause):
            self.notice(
                "lane resumed",
                metadata: metadata.merging(["cause": "\(pause.cause.rawValue)"]) { own, _ in own }
            )
        case .doubted(let reason):
            self.warning(
                "device refused before any push was accepted; the device's handle or the sender's configuration is wrong",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        case .manyGone(let reason):
            self.warning(
                "provider reports devices of many users in a row as gone; they are kept until it accepts a push: check the sender's configuration",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        case .kindRefused(let reason):
            self.warning(
                "device refused, because the provider lacks valid keys for its kind; such pushes wait until you correct the keys there",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        }
    }
}

extension Logger {
    /// Logs a change in the health of the receiver of events. During a pause, events wait in the
    /// database.
    func log(receiver event: HealthEvent) {
        switch event {
        case .paused(let pause):
            self.warning("event delivery paused; events wait and are retried", metadata: pause.metadata)
        case .changed(_, let pause):
            self.warning("event delivery still paused, for another reason", metadata: pause.metadata)
        case .prolonged(let pause, let delay):
            self.log(
                level: delay < Self.longDelay ? .debug : .info,
                "event delivery still paused",
                metadata: pause.metadata
            )
        case .resumed(let pause):
            self.notice("event delivery resumed", metadata: ["cause": "\(pause.cause.rawValue)"])
        case .doubted, .manyGone, .kindRefused: break
        }
    }
}

extension Pause {
    fileprivate var metadata: Logger.Metadata {
        let until = CivilTime(secondsSince1970: Int(self.until.timeIntervalSince1970.rounded(.up)))
        return ["cause": "\(self.cause.rawValue)", "reason": "\(self.reason)", "until": "\(until.rfc3339)"]
    }
}
