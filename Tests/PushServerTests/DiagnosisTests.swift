import Foundation
import PushAPI
import PushCore
import Testing

@testable import PushServer
@testable import PushStore

/// The sentences about users, devices and notifications.
@Suite struct DiagnosisTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let pause = Pause(.misconfigured, reason: "InvalidProviderToken", since: now - 60, until: now + 60)
    private static let diagnosis = Diagnosis(
        now: now,
        pauses: [Lane(Platform("apns")): pause, Lane(Platform("fcm")): nil],
        platforms: ["apns", "fcm", "stream"]
    )

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
            reason: reason
        )
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

    private func times(expiresAt: Date = Self.now + 600, recalledAt: Date? = nil) -> NotificationTimes {
        NotificationTimes(id: self.id, createdAt: Self.now - 600, expiresAt: expiresAt, recalledAt: recalledAt)
    }

    private func sent(_ pushes: [DeliveryEntry], _ recipient: RecipientEntry? = nil) -> Diagnosis.Sent {
        Diagnosis.Sent(id: self.id, times: self.times(), recipient: recipient ?? self.recipient(), pushes: pushes)
    }

    // MARK: Pushes

    @Test(arguments: [
        (DeliveryStage.queued, "apns", nil, Diagnosis.Cause.paused, #"the provider says "InvalidProviderToken""#),
        (.queued, "apns/sandbox", nil, .waiting, "waits to be sent"),
        (.queued, "fcm", nil, .waiting, "waits to be sent"),
        (.queued, "fcm", "Shutdown", .retrying, "waits for its next attempt after 2, because: Shutdown"),
        (.queued, "stream", PushReason.away, .away, "until the device opens an event stream"),
        (.queued, "wns", nil, .noSender, "the server has no sender for wns"),
        (.sending, "apns", nil, .sending, "is being sent"),
        (.accepted, "apns", nil, .accepted, "was accepted by the provider at 2023-11-14T22:13:20Z"),
        (.fetched, "fcm", nil, .fetched, "the user fetched the payload at 2023-11-14T22:13:20Z"),
        (.read, "fcm", nil, .read, "the user read the notification at 2023-11-14T22:13:20Z"),
        (.failed, "fcm", "UNREGISTERED", .failed, "refused for good at 2023-11-14T22:13:20Z: UNREGISTERED"),
        (.expired, "fcm", "Shutdown", .expired, "before the provider accepted it: Shutdown"),
        (.cancelled, "fcm", "recalled", .cancelled, "was cancelled at 2023-11-14T22:13:20Z: recalled"),
    ])
    func aPushIsExplainedByItsStateAndItsLane(
        state: DeliveryStage,
        lane: String,
        reason: String?,
        cause: Diagnosis.Cause,
        words: String
    ) throws {
        let push = self.push(state, lane, reason: reason)
        for sentences in [
            Self.diagnosis.explain(self.sent([push]), isWhole: true),
            Self.diagnosis.explain(self.alice, [self.entry(try self.registered())], self.sent([push])),
        ] {
            #expect(sentences.map(\.cause) == [cause])
            let sentence = try #require(sentences.first)
            #expect(sentence.device == self.device)
            #expect(sentence.text.hasPrefix("The push of notification 7 to alice's device d1 (\(lane)) "))
            #expect(sentence.text.contains(words), "\(sentence.text)")
        }
    }

    // MARK: Notifications

    @Test func aNotificationThatIsNotSentOrNotValidIsExplained() {
        let whole = self.sent([self.push(.queued)])
        let missing = Diagnosis.Sent(id: self.id, times: nil)
        let recalled = Diagnosis.Sent(id: self.id, times: self.times(recalledAt: Self.now))
        let expired = Diagnosis.Sent(id: self.id, times: self.times(expiresAt: Self.now))
        var scheduled = Diagnosis.Sent(id: self.id, times: self.times())
        scheduled.sendAt = Self.now + 60
        let toNobody = Diagnosis.Sent(id: self.id, times: self.times())
        let toNoDevice = self.sent([])
        let table: [(Diagnosis.Sent, Diagnosis.Cause)] = [
            (missing, .noNotification), (recalled, .recalled), (expired, .notificationExpired), (scheduled, .scheduled),
            (toNobody, .noRecipient), (toNoDevice, .noPush), (whole, .waiting),
        ]
        for (sent, cause) in table {
            #expect(Self.diagnosis.explain(sent, isWhole: true).map(\.cause) == [cause], "\(cause)")
        }
        var growing = whole
        growing.isFindingDevices = true
        #expect(Self.diagnosis.explain(growing, isWhole: true).map(\.cause) == [.findingDevices, .waiting])
    }

    @Test func manyPushesAreCountedByTheirCauses() {
        let pushes =
            (1...3).map { self.push(.accepted, number: $0) } + [self.push(.queued, "apns", number: 4)]
            + (5...8).map { self.push(.failed, reason: "UNREGISTERED", number: $0) }
        let sentences = Self.diagnosis.explain(self.sent(pushes), isWhole: false)
        #expect(
            sentences.map(\.text) == [
                "Of the first 8 pushes: 4 pushes in the lane fcm: failed: UNREGISTERED.",
                "Of the first 8 pushes: 3 pushes in the lane fcm: accepted.",
                "Of the first 8 pushes: 1 push in the lane apns: paused: InvalidProviderToken.",
            ]
        )
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
        #expect(causes([device], Diagnosis.Sent(id: self.id, times: self.times())) == [.notRecipient])
        #expect(causes([device], self.sent([], self.recipient(fetchedAt: Self.now))) == [.tagsDiffer, .fetched])
        let fetched = self.recipient(fetchedAt: Self.now, dismissedAt: Self.now)
        #expect(causes([device], self.sent([self.push(.fetched)], fetched)) == [.fetched, .dismissed])
        let disabled = User(id: 1, name: self.alice.name, role: .device, passwordNumber: 1, isDisabled: true)
        let sentences = Self.diagnosis.explain(disabled, [device], self.sent([self.push(.accepted)]))
        #expect(sentences.map(\.cause) == [.userDisabled, .accepted])
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
            // Another device's push.
            (self.entry(try self.registered()), [self.push(.failed, number: 2)], [.tagsDiffer]),
        ]
        for (device, pushes, causes) in table {
            let sentences = Self.diagnosis.explain(self.alice, [device], self.sent(pushes))
            #expect(sentences.map(\.cause) == causes, "\(device.state)")
            #expect(sentences.allSatisfy { $0.device == self.device })
        }
        let retired = Self.diagnosis.explain(
            self.alice,
            [self.entry(.retired(at: Self.now, reason: "Unregistered"))],
            nil
        )
        #expect(retired.first?.text.contains("was retired at 2023-11-14T22:13:20Z: Unregistered.") == true)
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
