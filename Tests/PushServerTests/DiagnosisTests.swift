import Foundation
import PushAPI
import PushCore
import Testing

@testable import PushServer
@testable import PushStore

/// The sentences that explain the state of users, devices and notifications.
@Suite struct DiagnosisTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let pause = Pause(.misconfigured, reason: "InvalidProviderToken", since: now - 60, until: now + 60)
    private static let diagnosis = Diagnosis(
        now: now,
        pauses: [Lane(Platform("apns")): pause, Lane(stored: "apns/sandbox"): nil, Lane(Platform("fcm")): nil],
        platforms: ["apns", "fcm", "stream", "hook"],
        receivers: ["hook": "hooks.example"]
    )
    private static let time = "2023-11-14T22:13:20Z"

    private let alice: User
    private let id: NotificationID
    private let device: RegistrationID

    init() throws {
        let name = try #require(Username("alice"))
        self.alice = User(id: 1, name: name, role: .device, passwordNumber: 1, isDisabled: false)
        self.id = try #require(NotificationID(rawValue: 7))
        self.device = try #require(RegistrationID("d1"))
    }

    private func push(
        _ state: DeliveryStage,
        _ lane: String = "fcm",
        reason: String? = nil,
        due: TimeInterval? = nil,
        number: Int64 = 1
    ) -> DeliveryEntry {
        let isOpen = state == .queued || state == .sending
        return DeliveryEntry(
            number: number,
            device: self.device,
            username: self.alice.name,
            lane: Lane(stored: lane),
            state: state,
            attempts: 2,
            updatedAt: isOpen ? nil : Self.now,
            nextAttempt: due.map { Self.now + $0 },
            reason: reason
        )
    }

    @Test func aLookIsExplainedAsALook() throws {
        let sent = Diagnosis.Sent(
            id: self.id,
            summary: self.summary(),
            pushes: [self.push(.accepted, "fcm/look")]
        )
        let text =
            "7 is a look: a silent push that tells devices to fetch the changes of other devices. It has no recipients."
        let push =
            "The push of notification 7 to alice's device d1 (fcm/look) was accepted by the provider at \(Self.time)."
        #expect(Self.diagnosis.explain(sent, isWhole: true).map(\.text) == [text, push])
        let device = self.entry(try self.registered())
        #expect(Self.diagnosis.explain(self.alice, [device], sent).map(\.text) == [text, push])
    }

    private func entry(
        _ state: DeviceEntry.State,
        createdAt: Date = Self.now - 3600,
        number: Int64 = 1
    ) -> DeviceEntry {
        DeviceEntry(
            id: self.device,
            username: self.alice.name,
            state: state,
            registeredAt: nil,
            pushedAt: nil,
            fetchedAt: nil,
            key: nil,
            place: DevicePlace(createdAt: createdAt, number: number)
        )
    }

    private func registered(for platform: String = "fcm") throws -> DeviceEntry.State {
        .registered(
            Platform(platform),
            .production,
            try #require(DeviceHandle("handle")),
            tags: ["news"].compactMap { PushCore.Tag($0) }
        )
    }

    private func recipient(fetchedAt: Date? = nil, dismissedAt: Date? = nil) -> RecipientEntry {
        RecipientEntry(
            user: 1,
            username: self.alice.name,
            fetchedAt: fetchedAt,
            readAt: nil,
            dismissedAt: dismissedAt
        )
    }

    private func summary(
        createdAt: Date = Self.now - 600,
        expiresAt: Date = Self.now + 600,
        recalledAt: Date? = nil,
        isEndToEnd: Bool = false
    ) -> NotificationSummary {
        NotificationSummary(
            id: self.id,
            app: .usual,
            isEndToEnd: isEndToEnd,
            createdAt: createdAt,
            expiresAt: expiresAt,
            recalledAt: recalledAt
        )
    }

    private func sent(_ pushes: [DeliveryEntry], _ recipient: RecipientEntry? = nil) -> Diagnosis.Sent {
        Diagnosis.Sent(id: self.id, summary: self.summary(), recipient: recipient ?? self.recipient(), pushes: pushes)
    }

    // MARK: Pushes

    @Test(
        arguments: [
            (
                DeliveryStage.queued, "apns", nil, 0, Diagnosis.Cause.paused,
                "waits, because the lane apns is paused since 2023-11-14T22:12:20Z (the provider refuses the credentials or the configuration: InvalidProviderToken), and its next attempt is at 2023-11-14T22:14:20Z"
            ),
            (.queued, "apns/sandbox", nil, 0, .waiting, "waits to be sent"),
            (.queued, "fcm", nil, 0, .waiting, "waits to be sent"),
            (
                .queued, "fcm", "Shutdown", 30, .retrying,
                "waits for its next attempt, which is at 2023-11-14T22:13:50Z, because attempt 2 failed: Shutdown"
            ),
            (
                .queued, "fcm", "Shutdown", -30, .retrying,
                "waits for its next attempt, which is due now, because attempt 2 failed: Shutdown"
            ),
            (
                .queued, "fcm", PushReason.paced, 30, .retrying,
                "waits for its next attempt, which is at 2023-11-14T22:13:50Z, because the device was woken a short time ago"
            ),
            (.queued, "stream", PushReason.away, nil, .away, "waits until the device opens an event stream"),
            (.queued, "wns", nil, 0, .noSender, "waits, because the server has no sender for wns"),
            (.sending, "apns", nil, nil, .sending, "is being sent"),
            (
                .accepted, "apns", nil, nil, .accepted,
                "was accepted by the provider at \(time), and the user has not fetched the payload"
            ),
            (
                .fetched, "fcm", nil, nil, .fetched,
                "was accepted by the provider, and the user fetched the payload at \(time)"
            ),
            (
                .read, "fcm", nil, nil, .read,
                "was accepted by the provider, and the user read the notification at \(time)"
            ),
            (.failed, "fcm", "UNREGISTERED", nil, .failed, "failed for good at \(time): UNREGISTERED"),
            (
                .expired, "fcm", "Shutdown", nil, .expired,
                "expired at \(time) before the provider accepted it; the last reason was: Shutdown"
            ),
            (.expired, "fcm", nil, nil, .expired, "expired at \(time) before the provider accepted it"),
            (.cancelled, "fcm", "recalled", nil, .cancelled, "was cancelled at \(time): recalled"),
        ] as [(DeliveryStage, String, String?, TimeInterval?, Diagnosis.Cause, String)]
    )
    func aPushIsExplainedByItsStateAndItsLane(
        state: DeliveryStage,
        lane: String,
        reason: String?,
        due: TimeInterval?,
        cause: Diagnosis.Cause,
        words: String
    ) throws {
        let push = self.push(state, lane, reason: reason, due: due)
        for sentences in [
            Self.diagnosis.explain(self.sent([push]), isWhole: true),
            Self.diagnosis.explain(self.alice, [self.entry(try self.registered())], self.sent([push])),
        ] {
            #expect(sentences.map(\.cause) == [cause])
            #expect(sentences.map(\.device) == [self.device])
            let text = "The push of notification 7 to alice's device d1 (\(lane)) \(words)."
            #expect(sentences.map(\.text) == [text])
        }
    }

    /// Each row has the end of the pause and the due time of the push, both in seconds from now
    /// (negative: already past), and then the words about the next attempt.
    @Test(
        arguments: [
            (-1, -5, "due now"), (-1, 30, "at 2023-11-14T22:13:50Z"), (60, 30, "at 2023-11-14T22:14:20Z"),
            (60, 90, "at 2023-11-14T22:14:50Z"), (60, nil, "at 2023-11-14T22:14:20Z"),
        ] as [(TimeInterval, TimeInterval?, String)]
    )
    func theNextAttemptIsNeverInThePast(until: TimeInterval, due: TimeInterval?, words: String) {
        let pause = Pause(.outage, reason: "timeout", since: Self.now - 600, until: Self.now + until)
        let diagnosis = Diagnosis(
            now: Self.now,
            pauses: [Lane(Platform("fcm")): pause],
            platforms: ["fcm"],
            receivers: [:]
        )
        let sentences = diagnosis.explain(self.sent([self.push(.queued, due: due)]), isWhole: true)
        #expect(sentences.first?.text.hasSuffix("and its next attempt is \(words).") == true, "\(sentences)")
    }

    // MARK: Confirmations

    @Test(
        arguments: [
            (
                DeliveryStage.queued, "HTTP 503",
                "The confirmation of the device d1 could not be delivered to hooks.example: the push of the code waits for its next attempt, which is at 2023-11-14T22:13:50Z, because attempt 2 failed: HTTP 503."
            ),
            (
                .failed, "HTTP 410",
                "The confirmation of the device d1 could not be delivered to hooks.example: the push of the code failed for good at \(time): HTTP 410."
            ),
            (.queued, nil, "The device d1 is not confirmed: the push of the code to hooks.example waits to be sent."),
            (.sending, nil, "The device d1 is not confirmed: the push of the code to hooks.example is being sent."),
            (
                .accepted, nil,
                "The device d1 is not confirmed: hooks.example accepted the push of the code at \(time), and the device has not returned the code."
            ),
        ] as [(DeliveryStage, String?, String)]
    )
    func aDeviceThatIsNotConfirmedIsExplainedByThePushOfItsCode(state: DeliveryStage, reason: String?, text: String)
        throws
    {
        var diagnosis = Self.diagnosis
        diagnosis.codes = [1: self.push(state, "hook", reason: reason, due: 30)]
        let sentences = diagnosis.explain(self.alice, [self.entry(.requested)], nil)
        #expect(sentences.map(\.cause) == [.unconfirmed, .noNotification])
        #expect(sentences.first?.text == text)
        // A registered device has claimed another handle. It keeps its old handle until it
        // confirms the claim.
        let again = diagnosis.explain(self.alice, [self.entry(try self.registered())], nil)
        #expect(again.map(\.cause) == [.unconfirmed, .noNotification])
        #expect(again.first?.text == text.replacing("he device d1 ", with: "he new handle of the device d1 "))
        // The waiting confirmation code belongs to another device.
        diagnosis.codes = [2: self.push(state, "hook")]
        let other = diagnosis.explain(self.alice, [self.entry(.requested)], nil)
        #expect(other.map(\.cause) == [.notRegistered, .noNotification])
    }

    // MARK: Notifications

    @Test func aNotificationThatIsNotSentOrNotValidIsExplained() {
        let whole = self.sent([self.push(.queued)])
        let missing = Diagnosis.Sent(id: self.id, summary: nil)
        let recalled = Diagnosis.Sent(id: self.id, summary: self.summary(recalledAt: Self.now))
        let expired = Diagnosis.Sent(id: self.id, summary: self.summary(expiresAt: Self.now))
        var scheduled = Diagnosis.Sent(id: self.id, summary: self.summary())
        scheduled.sendAt = Self.now + 60
        let toNobody = Diagnosis.Sent(id: self.id, summary: self.summary())
        let toNoDevice = self.sent([])
        let table: [(Diagnosis.Sent, Diagnosis.Cause, String)] = [
            (missing, .noNotification, "is not stored: it never existed, or has expired and is deleted."),
            (recalled, .recalled, "was recalled at \(Self.time)."),
            (expired, .notificationExpired, "expired at \(Self.time)."),
            (scheduled, .scheduled, "is scheduled: the server sends it at 2023-11-14T22:14:20Z."),
            (
                toNobody, .noRecipient,
                "has no recipients: its tags match no user and no device that may get a clear payload."
            ),
            (
                Diagnosis.Sent(id: self.id, summary: self.summary(isEndToEnd: true)), .noRecipient,
                "has no recipients: its tags match no user and no device."
            ),
            (
                toNoDevice, .noPush,
                "has recipients, and no pushes: none of their devices matches its tags and platforms."
            ),
        ]
        for (sent, cause, words) in table {
            let sentences = Self.diagnosis.explain(sent, isWhole: true)
            #expect(sentences.map(\.cause) == [cause], "\(cause)")
            #expect(sentences.map(\.text) == ["Notification 7 \(words)"])
        }
        var growing = whole
        growing.isFindingDevices = true
        let sentences = Self.diagnosis.explain(growing, isWhole: true)
        #expect(sentences.map(\.cause) == [.findingDevices, .waiting])
        #expect(sentences.first?.text == "The server is still looking up the devices of notification 7.")
    }

    @Test func manyPushesAreCountedByTheirCauses() {
        let pushes =
            (1...3).map { self.push(.accepted, number: $0) } + [self.push(.queued, "apns", number: 4)]
            + (5...8).map { self.push(.failed, reason: "UNREGISTERED", number: $0) }
        let sentences = Self.diagnosis.explain(self.sent(pushes), isWhole: false)
        #expect(
            sentences.map(\.text) == [
                "Of the first 8 pushes, 4 pushes in the lane fcm failed: UNREGISTERED.",
                "Of the first 8 pushes, 3 pushes in the lane fcm were accepted by the provider, and the payload is not fetched.",
                "Of the first 8 pushes, 1 push in the lane apns waits, because the lane is paused: InvalidProviderToken.",
            ]
        )
    }

    @Test(
        arguments: [
            (DeliveryStage.queued, "fcm", nil, "wait to be sent"),
            (.queued, "fcm", "Shutdown", "wait for the next attempt; the last reason was: Shutdown"),
            (.queued, "stream", PushReason.away, "wait until their devices open an event stream"),
            (.queued, "wns", nil, "wait, because the server has no sender for it"),
            (.sending, "fcm", nil, "are being sent"),
            (.fetched, "fcm", nil, "were accepted by the provider, and the payload is fetched"),
            (.read, "fcm", nil, "were accepted by the provider, and the payload is read"),
            (.expired, "fcm", nil, "expired"), (.cancelled, "fcm", "recalled", "were cancelled: recalled"),
        ] as [(DeliveryStage, String, String?, String)]
    )
    func aGroupOfPushesIsExplainedInASentence(state: DeliveryStage, lane: String, reason: String?, words: String) {
        let pushes = (1...6).map { self.push(state, lane, reason: reason, number: $0) }
        let sentences = Self.diagnosis.explain(self.sent(pushes), isWhole: true)
        #expect(sentences.map(\.text) == ["6 pushes in the lane \(lane) \(words)."])
    }

    // MARK: Users and devices

    @Test func aUserWithoutDevicesOrNotificationsIsExplained() throws {
        let device = self.entry(try self.registered())
        func causes(_ devices: [DeviceEntry], _ sent: Diagnosis.Sent?) -> [Diagnosis.Cause] {
            Self.diagnosis.explain(self.alice, devices, sent).map(\.cause)
        }
        #expect(causes([], nil) == [.noDevice, .noNotification])
        #expect(causes([device], nil) == [.noNotification])
        #expect(causes([], self.sent([])) == [.noDevice])
        #expect(causes([device], Diagnosis.Sent(id: self.id, summary: self.summary())) == [.notRecipient])
        #expect(causes([device], self.sent([], self.recipient(fetchedAt: Self.now))) == [.tagsDiffer, .fetched])
        let fetched = self.recipient(fetchedAt: Self.now, dismissedAt: Self.now)
        #expect(causes([device], self.sent([self.push(.fetched)], fetched)) == [.fetched, .dismissed])
        #expect(
            Self.diagnosis.explain(self.alice, [], nil).map(\.text) == [
                "alice has no device: no app has registered one for this user.",
                "No stored notification is for alice: none was sent, or all have expired.",
            ]
        )
        let toOthers = Diagnosis.Sent(id: self.id, summary: self.summary())
        #expect(
            Self.diagnosis.explain(self.alice, [device], toOthers).map(\.text) == [
                "alice is not a recipient of notification 7: its tags match neither the user nor a device of the user."
            ]
        )
        #expect(
            Self.diagnosis.explain(self.alice, [], self.sent([self.push(.fetched)], fetched)).last?.text
                == "alice dismissed notification 7 at \(Self.time)."
        )
        let disabled = User(id: 1, name: self.alice.name, role: .device, passwordNumber: 1, isDisabled: true)
        let sentences = Self.diagnosis.explain(disabled, [device], self.sent([self.push(.accepted)]))
        #expect(sentences.map(\.cause) == [.userDisabled, .accepted])
        #expect(sentences.first?.text == "The user alice is disabled, and cannot fetch anything.")
    }

    @Test func aUserWhoRequiresEncryptionIsExplainedByTheRequirement() throws {
        var diagnosis = Self.diagnosis
        diagnosis.requiresEncryption = true
        let device = self.entry(try self.registered())
        let table: [(isEndToEnd: Bool?, cause: Diagnosis.Cause, text: String)] = [
            (
                false, .encryptionRequired,
                "alice is not a recipient of notification 7: its payload is clear, and alice requires end-to-end encryption. Its tags may not match, either."
            ),
            (
                true, .notRecipient,
                "alice is not a recipient of notification 7: its tags match neither the user nor a device of the user."
            ),
            (
                nil, .noNotification,
                "No stored notification is for alice: none with end-to-end encryption was sent, or all have expired."
            ),
        ]
        for (isEndToEnd, cause, text) in table {
            let sent = isEndToEnd.map { Diagnosis.Sent(id: self.id, summary: self.summary(isEndToEnd: $0)) }
            let sentences = diagnosis.explain(self.alice, [device], sent)
            #expect(sentences.map(\.cause) == [.encryptionRequired, cause])
            #expect(
                sentences.map(\.text) == [
                    "alice requires end-to-end encryption: the server sends alice no clear payload.", text,
                ]
            )
        }
    }

    /// The user may have devices and notifications in apps that the caller does not see.
    @Test func aCallerWhoSeesSomeAppsReadsNothingAboutOthers() throws {
        var diagnosis = Self.diagnosis
        diagnosis.isLimited = true
        let hidden = Diagnosis.Sent(id: self.id, summary: nil)
        let missing =
            "Notification 7 is not visible to you: it never existed, has expired and is deleted, or belongs to another app."
        #expect(diagnosis.explain(hidden, isWhole: true).map(\.text) == [missing])
        #expect(
            diagnosis.explain(self.alice, [], hidden).map(\.text) == [
                "No device of alice is visible to you: your apps have registered none for this user.", missing,
            ]
        )
        #expect(
            diagnosis.explain(self.alice, [self.entry(try self.registered())], nil).map(\.text) == [
                "None of the latest notifications for alice is visible to you: there are none, or they belong to other apps."
            ]
        )
    }

    @Test func aDeviceIsExplainedByItsState() throws {
        let later = self.entry(try self.registered(), createdAt: Self.now)
        let table: [(DeviceEntry, [DeliveryEntry], [Diagnosis.Cause])] = [
            (self.entry(.requested), [], [.notRegistered]),
            (self.entry(.retired(at: Self.now, reason: "Unregistered")), [], [.retired]),
            (
                self.entry(.retired(at: Self.now, reason: "Unregistered")),
                [self.push(.failed, reason: "Unregistered")], [.retired, .failed]
            ),
            (later, [], [.registeredLater]), (self.entry(try self.registered()), [], [.tagsDiffer]),
            (self.entry(try self.registered(for: "wns")), [self.push(.queued, "wns")], [.noSender, .noSender]),
            // The notification's only push is to another device.
            (self.entry(try self.registered()), [self.push(.failed, number: 2)], [.tagsDiffer]),
        ]
        for (device, pushes, causes) in table {
            let sentences = Self.diagnosis.explain(self.alice, [device], self.sent(pushes))
            #expect(sentences.map(\.cause) == causes, "\(device.state)")
            #expect(sentences.allSatisfy { $0.device == self.device })
        }
    }

    @Test func theStateOfADeviceIsASentence() throws {
        let later = self.entry(try self.registered(), createdAt: Self.now)
        let table: [(DeviceEntry, String)] = [
            (self.entry(.requested), "The device d1 has not registered a handle: its app has only requested the id."),
            (
                self.entry(.retired(at: Self.now, reason: "Unregistered")),
                "The device d1 was retired at \(Self.time): Unregistered. It gets no pushes until its app registers again."
            ),
            (
                self.entry(try self.registered(for: "wns")),
                "The device d1 is registered for wns, for which the server has no sender."
            ),
            (later, "The device d1 was registered after notification 7 was sent."),
            (
                self.entry(try self.registered()),
                "Notification 7 has no push to the device d1: its tags or platforms do not match those of the device (platform fcm, tags news)."
            ),
        ]
        for (device, text) in table {
            let sentences = Self.diagnosis.explain(self.alice, [device], self.sent([]))
            #expect(sentences.first?.text == text)
        }
    }

    /// A test goes to one device, and has a fixed lifetime.
    @Test(arguments: [(240, 1, true), (241, 1, false), (240, 2, false)])
    func aTestOfAnotherDeviceExplainsAMissingPush(end: TimeInterval, pushes: Int64, isExplained: Bool) throws {
        let sent = Diagnosis.Sent(
            id: self.id,
            summary: self.summary(createdAt: Self.now - 60, expiresAt: Self.now + end),
            recipient: self.recipient(),
            pushes: (0..<pushes).map { self.push(.accepted, number: $0 + 2) }
        )
        let text = Self.diagnosis.explain(self.alice, [self.entry(try self.registered())], sent).first?.text
        #expect(text?.contains("it was a test of another device, or its tags") == isExplained, "\(text ?? "")")
    }

    @Test func onlyTheLatestRetiredDevicesAreExplained() {
        let devices = (0..<5).map { number in
            self.entry(.retired(at: Self.now + Double(number), reason: "reason \(number)"), number: Int64(number))
        }
        let sentences = Self.diagnosis.explain(self.alice, devices.shuffled(), nil)
        for number in 0..<5 {
            let isTold = sentences.contains { $0.text.contains("reason \(number)") }
            #expect(isTold == (number >= 5 - Diagnosis.maximumRetired))
        }
    }
}
