import Foundation
import PushCore
import Testing

@testable import PushStore

/// The decision about a due push, and the time when the next push to the same device is due,
/// tested without a database.
@Suite(.timeLimit(.minutes(5))) struct DueDeliveryTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)

    private func delivery(
        handle: Result<String, VaultError>? = .success("x"),
        alert: Result<PushAlert, VaultError>? = nil,
        lane: String? = "apns",
        isCancelled: Bool = false,
        isRetired: Bool = false,
        isRecalled: Bool = false,
        expiresIn seconds: TimeInterval? = 60
    ) -> DueDelivery {
        DueDelivery(
            key: DuePush(notification: 5, device: 7),
            user: 1,
            isCancelled: isCancelled,
            dueAt: Self.now.milliseconds,
            notification: seconds.map { seconds in
                DueNotification(
                    isRecalled: isRecalled,
                    seed: 3,
                    sequence: 9,
                    expiresAt: (Self.now + seconds).milliseconds,
                    priority: "high",
                    collapseID: nil,
                    alert: alert
                )
            },
            attempts: 1,
            cancelReason: "dismissed",
            handle: handle,
            isRetired: isRetired,
            lane: lane,
            confirmation: nil,
            shared: nil
        )
    }

    private func decision(_ delivery: DueDelivery, othersHaveKeys: Bool = true) -> DueDelivery.Decision {
        delivery.decision(in: "apns", othersHaveKeys: othersHaveKeys, now: Self.now)
    }

    @Test(arguments: [String?.some("apns"), nil]) func duePushIsSent(lane: String?) throws {
        let delivery = self.delivery(lane: lane)
        guard case .send(let push) = self.decision(delivery) else {
            Issue.record("the push is not sent")
            return
        }
        #expect(push.notification.rawValue == 5)
        #expect(push.handle == "x")
        let leased = delivery.leased(push, isAddressKnown: true)
        #expect(leased.device == 7)
        #expect(leased.state == DeliveryState(attempts: 2, expiresAt: Self.now + 60))
    }

    @Test func pushIsSettledForTheFirstReasonThatHolds() {
        #expect(self.decision(self.delivery(lane: "fcm", expiresIn: 0)) == .move(to: "fcm"))
        #expect(self.decision(self.delivery(isRecalled: true, expiresIn: 0)) == .settle(.expired, reason: nil))
        #expect(self.decision(self.delivery(expiresIn: nil)) == .settle(.expired, reason: nil))
        let recalled = self.delivery(isCancelled: true, isRecalled: true)
        #expect(self.decision(recalled) == .settle(.cancelled, reason: PushReason.recalled))
        let cancelled = self.delivery(handle: .failure(.unreadable), isCancelled: true)
        #expect(self.decision(cancelled) == .settle(.cancelled, reason: "dismissed"))
    }

    @Test(arguments: [(String?.none, false), ("x", true)])
    func pushToNoDeviceIsCancelled(handle: String?, isRetired: Bool) {
        let delivery = self.delivery(handle: handle.map { .success($0) }, isRetired: isRetired)
        #expect(self.decision(delivery) == .settle(.cancelled, reason: PushReason.noDevice))
    }

    /// The push waits for a missing key only if another process could have the key, and so only if
    /// another process uses the database.
    @Test(arguments: [true, false]) func missingKeyIsAwaitedIfOthersMayHaveIt(othersHaveKeys: Bool) {
        let error = VaultError.keyMissing(4)
        for delivery in [self.delivery(handle: .failure(error)), self.delivery(alert: .failure(error))] {
            let decision = self.decision(delivery, othersHaveKeys: othersHaveKeys)
            #expect(decision == (othersHaveKeys ? .waitForKey(4) : .settle(.failed, reason: "\(error)")))
            #expect(!delivery.isDamaged)
        }
    }

    @Test func damagedPushFails() {
        let error = VaultError.unreadable
        for delivery in [self.delivery(handle: .failure(error)), self.delivery(alert: .failure(error))] {
            #expect(self.decision(delivery) == .settle(.failed, reason: "\(error)"))
            #expect(delivery.isDamaged)
        }
    }

    @Test(arguments: [
        (TimeInterval?.some(60), TimeInterval?.none, false, false, Pace.send), (60, -60, false, false, .send),
        (60, -59, false, false, .wait(until: Self.now + 1)), (60, nil, true, false, .replace),
        (60, -59, true, true, .replace), (60, nil, false, true, .wait(until: Self.now + 60)),
        (nil, -1, true, true, .send),
    ])
    func deviceGetsOnlyTheNewestPushOfAnInterval(
        interval: TimeInterval?,
        accepted: TimeInterval?,
        hasNewer: Bool,
        isAnotherUnderWay: Bool,
        pace: Pace
    ) {
        let decided = Pace.decide(
            interval,
            acceptedAt: accepted.map { Self.now + $0 },
            hasNewer: hasNewer,
            isAnotherUnderWay: isAnotherUnderWay,
            now: Self.now
        )
        #expect(decided == pace)
    }
}
