internal import CivilTime
internal import Foundation
internal import Logging
internal import PushCore

extension Logger {
    /// A pause that is prolonged by at least this much gets a line at level `info` each time.
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
                "device refused, and no push accepted yet; the device's address or the sender's set-up is wrong",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        case .manyGone(let reason):
            self.warning(
                "provider calls the devices of many users in a row gone, and accepts none; they are kept until one is accepted",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        case .kindRefused(let reason):
            self.warning(
                "device refused because of the provider's keys for its kind; such pushes wait until they are mended",
                metadata: metadata.merging(["reason": "\(reason)"]) { own, _ in own }
            )
        }
    }
}

extension Logger {
    /// Logs a change in the health of the events' receiver. Events wait in the database meanwhile.
    func log(receiver event: HealthEvent) {
        switch event {
        case .paused(let pause):
            self.warning("events not delivered; they wait and are sent again", metadata: pause.metadata)
        case .changed(_, let pause):
            self.warning("events still not delivered, for another reason", metadata: pause.metadata)
        case .prolonged(let pause, let delay):
            self.log(
                level: delay < Self.longDelay ? .debug : .info,
                "events still not delivered",
                metadata: pause.metadata
            )
        case .resumed(let pause):
            self.notice("events are delivered again", metadata: ["cause": "\(pause.cause.rawValue)"])
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
