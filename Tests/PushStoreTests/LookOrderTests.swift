import Foundation
import PushCore
import PushStore
import Testing

/// Tests when a look (a push that tells a device to sync) is due, and how changes are merged.
struct LookOrderTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// The arguments are the interval, the time of the last look (silent push), whether that look
    /// is waiting, and whether the change is urgent. The last one is the seconds until the new
    /// look is due; `nil` means no new look.
    @Test(
        arguments: [
            (10, nil, false, false, 2.0), (1, nil, false, false, 0.2), (1200, nil, false, false, 2),
            // A waiting look (silent push) also serves for this change, so there is no new one.
            (10, 5.0, true, false, nil), (10, -100, true, false, nil),
            // The last look was already sent, so the new look waits for the rest of the interval.
            (10, -3, false, false, 7), (10, -9.5, false, false, 2), (1, -0.5, false, false, 0.5),
            // Urgent looks are due at once, unless a waiting look is due within a second anyway.
            (10, nil, false, true, 0), (10, 5, true, true, 0), (10, 0.5, true, true, nil),
            (10, -0.25, false, true, 0.75),
            (10, -3, false, true, 0),
            // The clock was set back, so the last look seems to lie far ahead.
            (10, 1e6, false, false, 10), (10, 1e6, true, true, 0),
        ] as [(Int, Double?, Bool, Bool, Double?)]
    )
    func aLookIsDueAfterTheInterval(interval: Int, last: Double?, isWaiting: Bool, isUrgent: Bool, due: Double?) {
        let step = LookPlan(interval: .seconds(interval)).step(
            last: last.map { Self.now + $0 },
            isWaiting: isWaiting,
            isUrgent: isUrgent,
            now: Self.now
        )
        let wanted: LookPlan.Step = if let due { .make(dueAt: Self.now + due) } else { .leave }
        #expect(step == wanted)
    }

    @Test func changesOfAUserAreMerged() {
        let book = LookBook()
        book.record(LookOrder(user: 1, session: "a"))
        book.record(LookOrder(user: 1, session: "a"))
        book.record(LookOrder(user: 2, session: "a"))
        book.record(LookOrder(user: 2, session: "b"))
        book.record(LookOrder(user: 3))
        book.record(LookOrder(user: 3, session: "a", isUrgent: true))
        book.record(LookSync(user: 1, session: "a", change: 7))
        book.record(LookSync(user: 1, session: "a", change: 5))
        let entries = book.take()
        #expect(
            entries.orders == [
                LookOrder(user: 1, session: "a"), LookOrder(user: 2), LookOrder(user: 3, isUrgent: true),
            ]
        )
        #expect(entries.syncs == [LookSync(user: 1, session: "a", change: 7)])
        #expect(book.take().isEmpty)
    }

    @Test func aFullBookDropsFurtherUsers() {
        let book = LookBook(limit: 2)
        for user: Int64 in 1...5 {
            book.record(LookOrder(user: user))
            book.record(LookSync(user: user, session: "a", change: 1))
            if let id = NotificationID(rawValue: user) { book.record(recallOf: id) }
        }
        book.record(LookOrder(user: 1, isUrgent: true))
        let entries = book.take()
        #expect(entries.orders == [LookOrder(user: 1, isUrgent: true), LookOrder(user: 2)])
        #expect(entries.syncs.count == 2 && entries.recalls.count == 2)
    }
}
