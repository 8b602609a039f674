internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Explains, from the stored data alone, why a phone got a notification or did not get it.
struct Diagnosis: Sendable {
    /// The causes that an explanation may have; scripts can compare their names.
    enum Cause: String, Sendable, CaseIterable {
        // The causes that concern the user or a device.
        case userDisabled = "user-disabled"
        case encryptionRequired = "encryption-required"
        case noDevice = "no-device"
        case notRegistered = "not-registered"
        case unconfirmed, retired
        // The causes that concern the notification.
        case noNotification = "no-notification"
        case recalled
        case notificationExpired = "notification-expired"
        case scheduled
        case findingDevices = "finding-devices"
        case notRecipient = "not-recipient"
        case noRecipient = "no-recipient"
        // The causes that concern a push.
        case noPush = "no-push"
        case registeredLater = "registered-later"
        case tagsDiffer = "tags-differ"
        case noSender = "no-sender"
        case paused, away, retrying, waiting, sending, accepted, failed, expired, cancelled
        // The causes that concern the recipient.
        case fetched, read, dismissed
    }

    /// One sentence of the answer.
    struct Sentence: Sendable, Hashable {
        let cause: Cause
        var device: RegistrationID?
        let text: String
    }

    /// The stored state of a notification, for one user or for all its recipients.
    struct Sent: Sendable {
        let id: NotificationID
        /// The notification's summary; `nil` if the notification is no longer stored, or the
        /// caller may not see it.
        let summary: NotificationSummary?
        var sendAt: Date?
        var isFindingDevices = false
        /// The recipient entry of the user. If the explanation is for all recipients, the entry of
        /// any recipient.
        var recipient: RecipientEntry?
        /// The notification's pushes to the user, or its first pushes if the explanation is for
        /// all recipients.
        var pushes: [DeliveryEntry] = []

        var isClear: Bool { self.summary?.isEndToEnd == false }

        /// Whether the notification is a look: its pushes only tell devices to sync, and it has no
        /// recipients.
        var isLook: Bool { !self.pushes.isEmpty && self.pushes.allSatisfy(\.lane.isOfLooks) }
    }

    let now: Date
    let pauses: [Lane: Pause?]
    /// The names of the platforms that have a sender.
    let platforms: Set<String>
    /// The host that receives a platform's pushes, by the platform's name; only for platforms for
    /// which the operator has configured one host.
    let receivers: [String: String]
    /// Whether the caller sees only some apps. The texts for this caller must not depend on the
    /// users and notifications of other apps.
    var isLimited = false
    /// Whether the explained user gets end-to-end payloads only.
    var requiresEncryption = false
    /// The pushes that carry confirmation codes, by the numbers of the devices that wait for the
    /// codes.
    var codes: [Int64: DeliveryEntry] = [:]
    /// The number of pushes that are explained one by one.
    static let maximumExplained = 5
    /// The largest number of a user's retired devices that are explained: those that were retired
    /// last.
    static let maximumRetired = 3

    /// Explains the state of a user, or of one device of the user. `sent` is `nil` if the caller
    /// may see no notification for the user.
    func explain(_ user: User, _ allDevices: [DeviceEntry], _ sent: Sent?) -> [Sentence] {
        let name = user.name.description
        let devices = Self.relevant(allDevices)
        var sentences: [Sentence] = []
        if user.isDisabled {
            sentences.append(
                Sentence(cause: .userDisabled, text: "The user \(name) is disabled, and cannot fetch anything.")
            )
        }
        if self.requiresEncryption {
            let text = "\(name) requires end-to-end encryption: the server sends \(name) no clear payload."
            sentences.append(Sentence(cause: .encryptionRequired, text: text))
        }
        if devices.isEmpty {
            let text =
                self.isLimited
                ? "No device of \(name) is visible to you: your apps have registered none for this user."
                : "\(name) has no device: no app has registered one for this user."
            sentences.append(Sentence(cause: .noDevice, text: text))
        }
        guard let sent else {
            let encrypted = self.requiresEncryption ? " with end-to-end encryption" : ""
            let text =
                self.isLimited
                ? "None of the latest notifications for \(name) is visible to you: there are none, or they belong to other apps."
                : "No stored notification is for \(name): none\(encrypted) was sent, or all have expired."
            return sentences + devices.flatMap(self.explain) + [Sentence(cause: .noNotification, text: text)]
        }
        let states = self.explain(sent)
        sentences += states
        // In the states other than `findingDevices`, the notification has no pushes yet, or no
        // pushes any more.
        if states.contains(where: { $0.cause != .findingDevices }) {
            return sentences + devices.flatMap(self.explain)
        }
        if sent.isLook { return sentences + devices.flatMap(self.explain) + self.explain(look: sent, to: devices) }
        guard let recipient = sent.recipient else {
            let isRefused = self.requiresEncryption && sent.isClear
            let reason =
                isRefused
                ? "payload is clear, and \(name) requires end-to-end encryption. Its tags may not match, either"
                : "tags match neither the user nor a device of the user"
            let text = "\(name) is not a recipient of notification \(sent.id): its \(reason)."
            let cause = isRefused ? Cause.encryptionRequired : .notRecipient
            return sentences + devices.flatMap(self.explain) + [Sentence(cause: cause, text: text)]
        }
        for device in devices {
            sentences += self.explain(device)
            if let push = sent.pushes.first(where: { $0.number == device.place.number }) {
                sentences.append(self.explain(push, of: sent.id, recipient))
            } else if let missing = self.missingPush(to: device, of: sent) {
                sentences.append(missing)
            }
        }
        return sentences + Self.receipts(of: recipient, sent, name)
    }

    /// Explains what became of a notification for all its recipients.
    func explain(_ sent: Sent, isWhole: Bool) -> [Sentence] {
        let states = self.explain(sent)
        if states.contains(where: { $0.cause != .findingDevices }) { return states }
        if sent.isLook { return states + self.explain(look: sent, to: nil) }
        guard sent.recipient != nil else {
            return states + [
                Sentence(
                    cause: .noRecipient,
                    text:
                        "Notification \(sent.id) has no recipients: its tags match no user and no device\(sent.isClear ? " that may get a clear payload" : "")."
                )
            ]
        }
        guard !sent.pushes.isEmpty else {
            let text =
                "Notification \(sent.id) has recipients, and no pushes: none of their devices matches its tags and platforms."
            return states + [Sentence(cause: .noPush, text: text)]
        }
        if sent.pushes.count <= Self.maximumExplained {
            return states + sent.pushes.map { self.explain($0, of: sent.id, nil) }
        }
        return states + self.groups(of: sent.pushes, isWhole: isWhole)
    }

    // MARK: - Private

    /// The devices that are explained: of the retired devices, only the `maximumRetired` that were
    /// retired last.
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

    /// The reason why a notification has no pushes yet, or why its pushes no longer matter; empty
    /// if the notification was sent and is valid.
    private func explain(_ sent: Sent) -> [Sentence] {
        guard let summary = sent.summary else {
            let text =
                self.isLimited
                ? "Notification \(sent.id) is not visible to you: it never existed, has expired and is deleted, or belongs to another app."
                : "Notification \(sent.id) is not stored: it never existed, or has expired and is deleted."
            return [Sentence(cause: .noNotification, text: text)]
        }
        if let recalledAt = summary.recalledAt {
            let text = "Notification \(sent.id) was recalled at \(recalledAt.rfc3339)."
            return [Sentence(cause: .recalled, text: text)]
        }
        if summary.expiresAt <= self.now {
            let text = "Notification \(sent.id) expired at \(summary.expiresAt.rfc3339)."
            return [Sentence(cause: .notificationExpired, text: text)]
        }
        if let sendAt = sent.sendAt {
            let text = "Notification \(sent.id) is scheduled: the server sends it at \(sendAt.rfc3339)."
            return [Sentence(cause: .scheduled, text: text)]
        }
        if sent.isFindingDevices {
            let text = "The server is still looking up the devices of notification \(sent.id)."
            return [Sentence(cause: .findingDevices, text: text)]
        }
        return []
    }

    /// The reason why a device gets no pushes at all, or no pushes at its new handle; empty if the
    /// device is registered and its platform has a sender.
    private func explain(_ device: DeviceEntry) -> [Sentence] {
        let code = self.codes[device.place.number].map { self.explain(code: $0, of: device) }
        switch device.state {
        case .requested:
            let text = "The device \(device.id) has not registered a handle: its app has only requested the id."
            return [code ?? Sentence(cause: .notRegistered, device: device.id, text: text)]
        case .retired(let at, let reason):
            let text =
                "The device \(device.id) was retired at \(at.rfc3339): \(reason). It gets no pushes until its app registers again."
            return [Sentence(cause: .retired, device: device.id, text: text)]
        case .registered(let platform, _, _, _):
            let new = code.map { [$0] } ?? []
            if self.platforms.contains(platform.description) { return new }
            let text = "The device \(device.id) is registered for \(platform), for which the server has no sender."
            return [Sentence(cause: .noSender, device: device.id, text: text)] + new
        }
    }

    /// The reason why a registered device has no push of a notification that the device's user
    /// received.
    private func missingPush(to device: DeviceEntry, of sent: Sent) -> Sentence? {
        guard case .registered(let platform, _, _, let tags) = device.state, let summary = sent.summary else {
            return nil
        }
        if device.createdAt > summary.createdAt {
            let text = "The device \(device.id) was registered after notification \(sent.id) was sent."
            return Sentence(cause: .registeredLater, device: device.id, text: text)
        }
        // The fan-out may not have come to the device yet.
        if sent.isFindingDevices { return nil }
        let lifetime = summary.expiresAt.timeIntervalSince(summary.createdAt)
        // The server does not store whether a notification is a test. Each test has this lifetime.
        let mayBeTest = sent.pushes.count == 1 && Int(lifetime.rounded()) == NotificationOrder.testLifetime
        let test = mayBeTest ? "it was a test of another device, or " : ""
        let list = tags.isEmpty ? "no tags" : "tags \(tags.map(\.description).joined(separator: " "))"
        let text =
            "Notification \(sent.id) has no push to the device \(device.id): \(test)its tags or platforms do not match those of the device (platform \(platform), \(list))."
        return Sentence(cause: .tagsDiffer, device: device.id, text: text)
    }

    /// Explains a look (a push that tells a device to sync): what it is, and the state of its
    /// pushes to these devices. `nil` means all devices.
    private func explain(look: Sent, to devices: [DeviceEntry]?) -> [Sentence] {
        let text =
            "\(look.id) is a look: a silent push that tells devices to fetch the changes of other devices. It has no recipients."
        let numbers = devices.map { Set($0.map(\.place.number)) }
        let pushes = look.pushes.filter { numbers?.contains($0.number) ?? true }.prefix(Self.maximumExplained)
        return [Sentence(cause: .noRecipient, text: text)] + pushes.map { self.explain($0, of: look.id, nil) }
    }

    /// Whether and when the user has fetched, read or dismissed the notification; empty if the
    /// sentence about a push says it already.
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
}
