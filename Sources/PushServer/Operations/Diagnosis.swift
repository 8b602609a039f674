internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Decides, from what is stored, why a phone got a notification or not.
struct Diagnosis: Sendable {
    /// The causes, for scripts.
    enum Cause: String, Sendable, CaseIterable {
        // Of users and devices.
        case unknown
        case userDisabled = "user-disabled"
        case noDevice = "no-device"
        case notRegistered = "not-registered"
        case retired
        // Of notifications.
        case noNotification = "no-notification"
        case recalled
        case notificationExpired = "notification-expired"
        case scheduled
        case findingDevices = "finding-devices"
        case notRecipient = "not-recipient"
        case noRecipient = "no-recipient"
        // Of pushes.
        case noPush = "no-push"
        case registeredLater = "registered-later"
        case tagsDiffer = "tags-differ"
        case noSender = "no-sender"
        case paused, away, retrying, waiting, sending, accepted, failed, expired, cancelled
        // Of recipients.
        case fetched, read, dismissed
    }

    /// One sentence of the answer.
    struct Sentence: Sendable, Hashable {
        let cause: Cause
        var device: RegistrationID?
        let text: String
    }

    /// The stored state of a notification, for one user or for all.
    struct Sent: Sendable {
        let id: NotificationID
        /// `nil` if it is not stored.
        let times: NotificationTimes?
        var sendAt: Date?
        var isFindingDevices = false
        /// The user's row, or any one.
        var recipient: RecipientEntry?
        /// Its pushes to the user, or its first pushes.
        var pushes: [DeliveryEntry] = []
    }

    let now: Date
    let pauses: [Lane: Pause?]
    /// The names of the platforms that have a sender.
    let platforms: Set<String>
    /// The number of pushes that are explained one by one.
    static let maximumExplained = 5
    /// The number of a user's retired devices that are explained, the latest.
    static let maximumRetired = 3

    /// Explains a user, or one device of the user. `sent` is `nil` if no notification is for the
    /// user.
    func explain(_ user: User, _ allDevices: [DeviceEntry], _ sent: Sent?) -> [Sentence] {
        let name = user.name.description
        let devices = Self.relevant(allDevices)
        var sentences: [Sentence] = []
        if user.isDisabled {
            sentences.append(
                Sentence(cause: .userDisabled, text: "The user \(name) is disabled, and cannot fetch anything.")
            )
        }
        if devices.isEmpty {
            sentences.append(
                Sentence(cause: .noDevice, text: "\(name) has no device: no app has registered one for this user.")
            )
        }
        guard let sent else {
            let text = "No stored notification is for \(name): none was sent, or all have expired."
            return sentences + devices.compactMap(self.explain) + [Sentence(cause: .noNotification, text: text)]
        }
        let states = self.explain(sent)
        sentences += states
        // Then there are no pushes yet, or none any more.
        if states.contains(where: { $0.cause != .findingDevices }) {
            return sentences + devices.compactMap(self.explain)
        }
        guard let recipient = sent.recipient else {
            let text =
                "\(name) is not a recipient of notification \(sent.id): its tags match neither the user nor a device of the user."
            return sentences + devices.compactMap(self.explain) + [Sentence(cause: .notRecipient, text: text)]
        }
        for device in devices {
            if let state = self.explain(device) { sentences.append(state) }
            if let push = sent.pushes.first(where: { $0.number == device.place.number }) {
                sentences.append(self.explain(push, of: sent.id, recipient))
            } else if let missing = self.missingPush(to: device, of: sent) {
                sentences.append(missing)
            }
        }
        return sentences + Self.receipts(of: recipient, sent, name)
    }

    /// Explains a notification to all its recipients.
    func explain(_ sent: Sent, isWhole: Bool) -> [Sentence] {
        let states = self.explain(sent)
        if states.contains(where: { $0.cause != .findingDevices }) { return states }
        guard sent.recipient != nil else {
            return states + [
                Sentence(
                    cause: .noRecipient,
                    text: "Notification \(sent.id) has no recipients: its tags match no user and no device."
                )
            ]
        }
        guard !sent.pushes.isEmpty else {
            let text =
                "Notification \(sent.id) has recipients and no pushes: no device of theirs matched its tags and platforms."
            return states + [Sentence(cause: .noPush, text: text)]
        }
        if sent.pushes.count <= Self.maximumExplained {
            return states + sent.pushes.map { self.explain($0, of: sent.id, nil) }
        }
        return states + self.groups(of: sent.pushes, isWhole: isWhole)
    }

    // MARK: - Private

    /// The devices without the older ones of those that are retired.
    private static func relevant(_ devices: [DeviceEntry]) -> [DeviceEntry] {
        let retirements = devices.compactMap { device in
            if case .retired(let at, _) = device.state { at } else { nil }
        }
        guard retirements.count > Self.maximumRetired else { return devices }
        let first = retirements.sorted(by: >)[Self.maximumRetired - 1]
        return devices.filter { device in
            if case .retired(let at, _) = device.state { at >= first } else { true }
        }
    }

    /// Why a notification has no pushes yet, or none that count; empty if it is sent and valid.
    private func explain(_ sent: Sent) -> [Sentence] {
        guard let times = sent.times else {
            let text = "Notification \(sent.id) is not stored: it never existed, or has expired and is deleted."
            return [Sentence(cause: .noNotification, text: text)]
        }
        if let recalledAt = times.recalledAt {
            let text = "Notification \(sent.id) was recalled at \(recalledAt.rfc3339)."
            return [Sentence(cause: .recalled, text: text)]
        }
        if times.expiresAt <= self.now {
            let text = "Notification \(sent.id) expired at \(times.expiresAt.rfc3339)."
            return [Sentence(cause: .notificationExpired, text: text)]
        }
        if let sendAt = sent.sendAt {
            let text = "Notification \(sent.id) is scheduled: it is sent at \(sendAt.rfc3339)."
            return [Sentence(cause: .scheduled, text: text)]
        }
        if sent.isFindingDevices {
            let text = "The server still looks up the devices of notification \(sent.id)."
            return [Sentence(cause: .findingDevices, text: text)]
        }
        return []
    }

    /// Why a device gets no pushes at all; `nil` if it is registered and has a sender.
    private func explain(_ device: DeviceEntry) -> Sentence? {
        switch device.state {
        case .requested:
            let text = "The device \(device.id) has an id, and has not registered a handle yet."
            return Sentence(cause: .notRegistered, device: device.id, text: text)
        case .retired(let at, let reason):
            let text =
                "The device \(device.id) was retired at \(at.rfc3339): \(reason). It gets pushes again once its app registers."
            return Sentence(cause: .retired, device: device.id, text: text)
        case .registered(let platform, _, _, _):
            if self.platforms.contains(platform.description) { return nil }
            let text = "The device \(device.id) is registered for \(platform), for which the server has no sender."
            return Sentence(cause: .noSender, device: device.id, text: text)
        }
    }

    /// Why a registered device has no push of a notification that its user received.
    private func missingPush(to device: DeviceEntry, of sent: Sent) -> Sentence? {
        guard case .registered(let platform, _, _, let tags) = device.state, let times = sent.times else { return nil }
        if device.createdAt > times.createdAt {
            let text = "The device \(device.id) was registered after notification \(sent.id) was sent."
            return Sentence(cause: .registeredLater, device: device.id, text: text)
        }
        // The search has not come to the device yet.
        if sent.isFindingDevices { return nil }
        let list = tags.map(\.description).joined(separator: " ")
        let text =
            "Notification \(sent.id) has no push to the device \(device.id): its tags or platforms do not match those of the device (\(platform); \(list))."
        return Sentence(cause: .tagsDiffer, device: device.id, text: text)
    }

    /// The state of a push, and the reason.
    private func explain(_ push: DeliveryEntry, of id: NotificationID, _ recipient: RecipientEntry?) -> Sentence {
        let owner = push.username.map { "\($0)'s" } ?? "the deleted user's"
        let device = push.device.map { "\(owner) device \($0)" } ?? "\(owner) deleted device"
        let (cause, predicate) = self.state(of: push, recipient)
        return Sentence(
            cause: cause,
            device: push.device,
            text: "The push of notification \(id) to \(device) (\(push.lane)) \(predicate)."
        )
    }

    private func state(of push: DeliveryEntry, _ recipient: RecipientEntry?) -> (Cause, String) {
        let at = push.updatedAt.map { " at \($0.rfc3339)" } ?? ""
        let reason = push.reason.map { ": \($0)" } ?? ""
        switch push.state {
        case .queued: return self.wait(of: push)
        case .sending: return (.sending, "is being sent")
        case .accepted:
            let rest = recipient?.dismissedAt == nil ? ", and the user has not fetched the payload" : ""
            return (.accepted, "was accepted by the provider\(at)\(rest)")
        case .fetched: return (.fetched, "was accepted by the provider, and the user fetched the payload\(at)")
        case .read: return (.read, "was accepted by the provider, and the user read the notification\(at)")
        case .expired: return (.expired, "expired\(at) before the provider accepted it\(reason)")
        case .failed: return (.failed, "was refused for good\(at)\(reason)")
        case .cancelled: return (.cancelled, "was cancelled\(at)\(reason)")
        }
    }

    /// Why a push is queued.
    private func wait(of push: DeliveryEntry) -> (Cause, String) {
        if !self.platforms.contains(push.lane.platform) {
            return (.noSender, "waits, because the server has no sender for \(push.lane.platform)")
        }
        if let pause = self.pauses[push.lane] ?? nil {
            let words = pause.reason.isEmpty ? "" : ", the provider says \"\(pause.reason)\""
            let text =
                "waits, because the lane \(push.lane) is paused since \(pause.since.rfc3339): \(pause.cause.rawValue)\(words); the next attempt is at \(pause.until.rfc3339)"
            return (.paused, text)
        }
        guard let reason = push.reason else { return (.waiting, "waits to be sent") }
        if reason == PushReason.away { return (.away, "waits until the device opens an event stream") }
        return (.retrying, "waits for its next attempt after \(push.attempts), because: \(reason)")
    }

    /// The receipts of the user, unless a push has them already.
    private static func receipts(of recipient: RecipientEntry, _ sent: Sent, _ name: String) -> [Sentence] {
        let isTold = sent.pushes.contains { [.fetched, .read].contains($0.state) }
        let times: [(Cause, String, Date?)] = [
            (.fetched, "fetched", isTold ? nil : recipient.fetchedAt), (.read, "read", isTold ? nil : recipient.readAt),
            (.dismissed, "dismissed", recipient.dismissedAt),
        ]
        return times.compactMap { cause, word, time in
            time.map { Sentence(cause: cause, text: "\(name) \(word) notification \(sent.id) at \($0.rfc3339).") }
        }
    }

    /// Many pushes, those with the same cause together, the most frequent first.
    private func groups(of pushes: [DeliveryEntry], isWhole: Bool) -> [Sentence] {
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
        let first = isWhole ? "" : "Of the first \(pushes.count) pushes: "
        return sorted.map { group, count in
            let reason = group.reason.map { ": \($0)" } ?? ""
            let noun = count == 1 ? "push" : "pushes"
            let text = "\(first)\(count) \(noun) in the lane \(group.lane): \(group.cause.rawValue)\(reason)."
            return Sentence(cause: group.cause, text: text)
        }
    }
}
