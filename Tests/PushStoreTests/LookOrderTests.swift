import Foundation
import PushCore
import PushStore
import Testing

/// Tests when a look (a push that tells a device to sync) is due, and how changes are merged.
struct LookOrderTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// The arguments are the interval, the time when the last look (silent push) was first due,
    /// the time when it is sent if it still waits, and whether the change is urgent. The last one
    /// is the seconds until the new look is due; `nil` means no new look.
    @Test(
        arguments: [
            (10, nil, nil, false, 2.0), (1, nil, nil, false, 0.2), (1200, nil, nil, false, 2),
            // A waiting look also serves for this change, so there is no new one.
            (10, 5.0, 5.0, false, nil), (10, -100, -100, false, nil), (1200, -2, 900, false, nil),
            // The last look was already sent, so the new look waits for the rest of the interval.
            (10, -3, nil, false, 7), (10, -9.5, nil, false, 2), (1, -0.5, nil, false, 0.5),
            // Urgent looks are due at once, unless a waiting look is due within a second anyway.
            (10, nil, nil, true, 0), (10, 5, 5, true, 0), (10, 0.5, 0.5, true, nil),
            (10, -0.25, nil, true, 0.75),
            (10, -3, nil, true, 0),
            // The last look waits for its retry for longer than the interval.
            (10, -3, 900, false, 7), (10, -15, 900, false, 2), (10, -3, 900, true, 0), (10, -0.25, 900, true, 0.75),
            // The clock was set back, so the last look seems to lie far ahead.
            (10, 1e6, nil, false, 10), (10, 1e6, 1e6, true, 0), (10, 1e6, 1e6, false, 2),
        ] as [(Int, Double?, Double?, Bool, Double?)]
    )
    func aLookIsDueAfterTheInterval(interval: Int, last: Double?, waitsUntil: Double?, isUrgent: Bool, due: Double?) {
        let next = LookOrder(user: 1, app: .usual, isUrgent: isUrgent).nextLook(
            every: .seconds(interval),
            last: last.map { Self.now + $0 },
            waitsUntil: waitsUntil.map { Self.now + $0 },
            now: Self.now
        )
        #expect(next == due.map { Self.now + $0 })
    }

    @Test func changesOfAUserInAnAppAreMerged() throws {
        let (book, bank) = (LookBook(), try #require(AppName("bank")))
        book.record(LookOrder(user: 1, app: .usual, session: "a"))
        book.record(LookOrder(user: 1, app: .usual, session: "a"))
        book.record(LookOrder(user: 2, app: .usual, session: "a"))
        book.record(LookOrder(user: 2, app: .usual, session: "b"))
        book.record(LookOrder(user: 3, app: .usual))
        book.record(LookOrder(user: 3, app: .usual, session: "a", isUrgent: true))
        book.record(LookOrder(user: 3, app: bank, session: "b"))
        book.record(LookSync(user: 1, app: .usual, session: "a", change: 7))
        book.record(LookSync(user: 1, app: .usual, session: "a", change: 5))
        let entries = book.take()
        #expect(
            entries.orders == [
                LookOrder(user: 1, app: .usual, session: "a"), LookOrder(user: 2, app: .usual),
                LookOrder(user: 3, app: bank, session: "b"), LookOrder(user: 3, app: .usual, isUrgent: true),
            ]
        )
        #expect(entries.syncs == [LookSync(user: 1, app: .usual, session: "a", change: 7)])
        #expect(book.take().orders.isEmpty)
    }

    @Test func aFullBookDropsFurtherUsers() {
        let book = LookBook(limit: 2)
        for user: Int64 in 1...5 {
            book.record(LookOrder(user: user, app: .usual))
            book.record(LookSync(user: user, app: .usual, session: "a", change: 1))
        }
        book.record(LookOrder(user: 1, app: .usual, isUrgent: true))
        let entries = book.take()
        #expect(entries.orders == [LookOrder(user: 1, app: .usual, isUrgent: true), LookOrder(user: 2, app: .usual)])
        #expect(entries.syncs.count == 2)
    }
}
