import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about dismissals, read marks, recalls and read-once payloads, tested without a
/// database.
@Suite(.timeLimit(.minutes(5))) struct RecipientStateTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)

    private func state(
        isReadOnce: Bool = false,
        hasPayload: Bool = true,
        isDismissed: Bool = false,
        isRead: Bool = false,
        isFetched: Bool = false,
        leasedFor seconds: TimeInterval? = nil
    ) -> RecipientState? {
        RecipientState(
            isReadOnce: isReadOnce,
            hasPayload: hasPayload,
            isDismissed: isDismissed,
            isRead: isRead,
            isFetched: isFetched,
            leasedUntil: seconds.map { Self.now + $0 }
        )
    }

    @Test func recipientSeesNeitherDismissedNorRecalledNotification() {
        #expect(self.state()?.mark == .unread)
        #expect(self.state(isRead: true)?.mark == .read)
        #expect(self.state(isDismissed: true)?.mark == nil)
        #expect(self.state(hasPayload: false)?.mark == nil)
    }

    @Test(arguments: [
        (ReadMark.unread, ReadMark?.none, true), (.unread, .unread, true), (.unread, .read, false),
        (.read, .read, true),
        (.read, .unread, false),
    ])
    func dismissalNeedsTheExpectedMark(mark: ReadMark, expected: ReadMark?, isDone: Bool) {
        #expect(self.state(isRead: mark == .read)?.mayDismiss(ifStill: expected) == isDone)
        #expect(self.state(isDismissed: true, isRead: mark == .read)?.mayDismiss(ifStill: expected) == false)
    }

    @Test(arguments: [
        (ReadMark.read, ReadMark?.none, ReadMark?.none, MarkOutcome.missing, false),
        (.read, .read, nil, .marked, false), (.read, .unread, nil, .marked, true),
        (.read, .unread, .unread, .marked, true), (.read, .unread, .read, .changed, false),
        (.unread, .unread, .read, .changed, false), (.unread, .read, .read, .marked, true),
        (.unread, nil, .read, .missing, false),
    ])
    func markChangesOnlyAVisibleNotification(
        mark: ReadMark,
        old: ReadMark?,
        expected: ReadMark?,
        outcome: MarkOutcome,
        isChange: Bool
    ) {
        #expect(mark.decide(replacing: old, ifStill: expected) == (outcome, isChange))
    }

    @Test func readOncePayloadIsTakenAfterItsFetch() {
        #expect(self.state(isReadOnce: true).taking == .notFetched)
        #expect(self.state(isReadOnce: true, isFetched: true, leasedFor: 60).taking == .taken)
        // The lease has expired, but the store has not processed its end yet.
        #expect(self.state(isReadOnce: true, isFetched: true, leasedFor: -60).taking == .taken)
        #expect(
            self.state(isReadOnce: true, hasPayload: false, isDismissed: true, isFetched: true).taking == .takenBefore
        )
        #expect(self.state(isReadOnce: true, isDismissed: true).taking == .missing)
        #expect(self.state(isReadOnce: true, hasPayload: false).taking == .missing)
        #expect(self.state(isFetched: true).taking == .notReadOnce)
        #expect(self.state(isDismissed: true, isFetched: true).taking == .missing)
        #expect(self.state(hasPayload: false).taking == .missing)
        #expect(RecipientState?.none.taking == .missing)
    }

    @Test(arguments: [(TimeInterval?.none, PayloadLease.refused), (1, .held), (0, .refused), (-1, .refused)])
    func leaseIsHeldUntilItsEnd(seconds: TimeInterval?, outcome: PayloadLease) {
        #expect(self.state(isReadOnce: true, leasedFor: seconds).leased(Self.now) == outcome)
        #expect(self.state(isReadOnce: true, hasPayload: false, leasedFor: seconds).leased(Self.now) == .refused)
        #expect(RecipientState?.none.leased(Self.now) == .refused)
    }

    @Test(arguments: [
        (Recaller.sender(1), true, true), (.sender(2), false, false), (.scheduler(1), false, true),
        (.scheduler(2), false, false), (.administrator, true, true),
    ])
    func senderAndAdministratorMayRecall(recaller: Recaller, isSent: Bool, isScheduled: Bool) {
        #expect(recaller.mayRecall(ofSender: 1, isScheduled: false) == isSent)
        #expect(recaller.mayRecall(ofSender: 1, isScheduled: true) == isScheduled)
    }
}
