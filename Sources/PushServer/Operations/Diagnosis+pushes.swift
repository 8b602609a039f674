internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

extension Diagnosis {
    /// The reason why a lane (the queue of pushes to one provider) sends no pushes now; `nil` if
    /// the lane sends pushes.
    ///
    /// `due` is the time at which the explained push is due. A paused lane does not send the push
    /// before this time, even if its pause ends earlier.
    func obstacle(in lane: Lane, due: Date? = nil) -> (cause: Cause, text: String)? {
        guard self.pauses.hasSender(for: lane, among: self.platforms) else {
            let place = self.platforms.contains(lane.platform) ? lane.description : lane.platform
            return (.noSender, "the server has no sender for \(place)")
        }
        guard let pause = self.pauses[lane] ?? nil else { return nil }
        let reason = pause.reason.isEmpty ? "" : ": \(pause.reason)"
        let next = max(pause.until, due ?? pause.until)
        let text =
            "the lane \(lane) is paused since \(pause.since.rfc3339) (\(pause.cause.words)\(reason)), and its next attempt is \(self.time(next))"
        return (.paused, text)
    }

    /// The state of a push, and the reason for the state.
    func explain(_ push: DeliveryEntry, of id: NotificationID, _ recipient: RecipientEntry?) -> Sentence {
        let owner = push.username.map { "\($0)'s" } ?? "a deleted user's"
        let device = push.device.map { "\(owner) device \($0)" } ?? "\(owner) deleted device"
        let (cause, predicate) = self.state(of: push, recipient)
        return Sentence(
            cause: cause,
            device: push.device,
            text: "The push of notification \(id) to \(device) (\(push.lane)) \(predicate)."
        )
    }

    /// The reason why a device has not confirmed a handle, which is the device's first handle or a
    /// new one. `push` carries the confirmation code.
    func explain(code push: DeliveryEntry, of device: DeviceEntry) -> Sentence {
        let subject = device.state == .requested ? "device \(device.id)" : "new handle of the device \(device.id)"
        let receiver = self.receivers[push.lane.platform] ?? push.lane.platform
        let (cause, predicate) = self.state(of: push, nil)
        let text =
            switch cause {
            case .accepted:
                "The \(subject) is not confirmed: \(receiver) accepted the push of the code\(self.end(of: push)), and the device has not returned the code."
            case .waiting, .sending:
                "The \(subject) is not confirmed: the push of the code to \(receiver) \(predicate)."
            default:
                "The confirmation of the \(subject) could not be delivered to \(receiver): the push of the code \(predicate)."
            }
        return Sentence(cause: .unconfirmed, device: device.id, text: text)
    }

    /// Explains many pushes. Pushes with the same cause get one sentence; the most frequent cause
    /// comes first.
    func groups(of pushes: [DeliveryEntry], isWhole: Bool) -> [Sentence] {
        struct Group: Hashable {
            let cause: Cause
            let lane: Lane
            let reason: String?
        }
        var counts: [Group: Int] = [:]
        for push in pushes {
            let cause = self.state(of: push, nil).0
            let reason = cause == .paused ? (self.pauses[push.lane] ?? nil)?.reason : push.reason
            counts[Group(cause: cause, lane: push.lane, reason: reason), default: 0] += 1
        }
        let sorted = counts.sorted {
            ($1.value, $0.key.cause.rawValue, $0.key.lane.description, $0.key.reason ?? "")
                < ($0.value, $1.key.cause.rawValue, $1.key.lane.description, $1.key.reason ?? "")
        }
        let first = isWhole ? "" : "Of the first \(pushes.count) pushes, "
        return sorted.map { group, count in
            let noun = count == 1 ? "push" : "pushes"
            let predicate = Self.predicate(of: group.cause, count == 1, group.reason.map { ": \($0)" } ?? "")
            let text = "\(first)\(count) \(noun) in the lane \(group.lane) \(predicate)."
            return Sentence(cause: group.cause, text: text)
        }
    }

    // MARK: - Private

    private func state(of push: DeliveryEntry, _ recipient: RecipientEntry?) -> (Cause, String) {
        let (at, reason) = (self.end(of: push), push.reason.map { ": \($0)" } ?? "")
        switch push.state {
        case .queued: return self.wait(of: push)
        case .sending: return (.sending, "is being sent")
        case .accepted:
            let isShown = recipient?.dismissedAt == nil && !push.lane.isOfLooks
            let rest = isShown ? ", and the user has not fetched the payload" : ""
            return (.accepted, "was accepted by the provider\(at)\(rest)")
        case .fetched: return (.fetched, "was accepted by the provider, and the user fetched the payload\(at)")
        case .read: return (.read, "was accepted by the provider, and the user read the notification\(at)")
        case .expired:
            let last = push.reason.map { "; the last reason was: \($0)" } ?? ""
            return (.expired, "expired\(at) before the provider accepted it\(last)")
        case .failed: return (.failed, "failed for good\(at)\(reason)")
        case .cancelled: return (.cancelled, "was cancelled\(at)\(reason)")
        }
    }

    private func end(of push: DeliveryEntry) -> String { push.updatedAt.map { " at \($0.rfc3339)" } ?? "" }

    /// The reason why a push is queued.
    private func wait(of push: DeliveryEntry) -> (Cause, String) {
        if let (cause, text) = self.obstacle(in: push.lane, due: push.nextAttempt) {
            return (cause, "waits, because \(text)")
        }
        guard let reason = push.reason else { return (.waiting, "waits to be sent") }
        if reason == PushReason.away { return (.away, "waits until the device opens an event stream") }
        let next = push.nextAttempt.map { ", which is \(self.time($0))" } ?? ""
        let cause = reason == PushReason.paced ? reason : "attempt \(push.attempts) failed: \(reason)"
        return (.retrying, "waits for its next attempt\(next), because \(cause)")
    }

    /// The time in words. It may be in the past: as long as no push is due, the server does not
    /// check whether a pause has ended.
    private func time(_ date: Date) -> String { date > self.now ? "at \(date.rfc3339)" : "due now" }

    private static func predicate(of cause: Cause, _ isOne: Bool, _ reason: String) -> String {
        let (wait, be, past) = isOne ? ("waits", "is", "was") : ("wait", "are", "were")
        return switch cause {
        case .noSender: "\(wait), because the server has no sender for it"
        case .paused: "\(wait), because the lane is paused\(reason)"
        case .away: "\(wait) until \(isOne ? "its device opens" : "their devices open") an event stream"
        case .retrying: "\(wait) for the next attempt; the last reason was\(reason)"
        case .waiting: "\(wait) to be sent"
        case .sending: "\(be) being sent"
        case .accepted: "\(past) accepted by the provider, and the payload is not fetched"
        case .fetched, .read: "\(past) accepted by the provider, and the payload is \(cause.rawValue)"
        case .expired, .failed: "\(cause.rawValue)\(reason)"
        default: "\(past) \(cause.rawValue)\(reason)"
        }
    }
}

extension Pause.Cause {
    /// The cause as words that fit into a sentence.
    fileprivate var words: String {
        switch self {
        case .outage: "the provider does not answer"
        case .overloaded: "the provider asks for a pause"
        case .throttled: "the provider asks for fewer pushes"
        case .misconfigured: "the provider refuses the credentials or the configuration"
        case .devicesRefused: "the provider knows none of the devices"
        }
    }
}
