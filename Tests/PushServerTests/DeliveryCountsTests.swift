import Foundation
import PushCore
import PushStore
import Testing

@testable import PushServer

/// The server counts a notification's pushes page by page, and keeps the counts for later
/// requests.
@Suite(.timeLimit(.minutes(5))) struct DeliveryCountsTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let counts = DeliveryCounts()

    /// Requests the counts of a notification with `pages` pages of pushes. Increments `counted`
    /// for each page that the server counts now. For other pages it uses the kept counts.
    private func count(_ pages: Int64, _ counted: Counter, at now: Date) async throws -> [DeliveryStage: Int] {
        try await self.counts.counts(of: #require(NotificationID(rawValue: 1)), now: now) { device in
            counted.increment()
            return ([.accepted: 1, .failed: 2], device + 1 == pages ? nil : device + 1)
        }.counts
    }

    /// Makes a request that may count only a part of the pages. Returns the number of pages
    /// counted so far, and whether the count is complete.
    private func part(_ pages: Int64, _ counted: Counter, at now: Date) async throws -> (Int?, Bool) {
        let id = try #require(NotificationID(rawValue: 1))
        let (counts, isComplete) = try await self.counts.counts(of: id, steps: 2, now: now) { device in
            counted.increment()
            return ([.accepted: 1], device + 1 == pages ? nil : device + 1)
        }
        return (counts[.accepted], isComplete)
    }

    @Test func aShortCountIsNotCached() async throws {
        let counted = Counter()
        for number in 1...3 {
            #expect(try await self.count(1, counted, at: Self.start) == [.accepted: 1, .failed: 2])
            #expect(counted.count == number)
        }
    }

    @Test func aLongCountIsCachedForTenSeconds() async throws {
        let counted = Counter()
        for seconds in [0, 1, 9.9] {
            #expect(try await self.count(3, counted, at: Self.start + seconds) == [.accepted: 3, .failed: 6])
            #expect(counted.count == 3)
        }
        _ = try await self.count(3, counted, at: Self.start + 10)
        #expect(counted.count == 6)
        _ = try await self.count(3, counted, at: Self.start - 100)
        #expect(counted.count == 9, "a clock that was put back")
    }

    @Test func aCountIsCachedInProportionToItsSteps() async throws {
        let (counts, counted) = (DeliveryCounts(keptForStep: 0.2), Counter())
        let id = try #require(NotificationID(rawValue: 1))
        for (seconds, steps) in [(0, 3), (0.5, 3), (0.7, 6), (1.2, 6), (1.4, 9)] {
            _ = try await counts.counts(of: id, now: Self.start + seconds) { device in
                counted.increment()
                return ([.accepted: 1], device == 2 ? nil : device + 1)
            }
            #expect(counted.count == steps, "after \(seconds) s")
        }
    }

    @Test func aPartialCountContinuesWithTheNextRequest() async throws {
        let counted = Counter()
        for (pages, isComplete) in [(2, false), (4, false), (5, true), (5, true)] {
            let part = try await self.part(5, counted, at: Self.start)
            #expect(part.0 == pages && part.1 == isComplete, "\(part)")
        }
        #expect(counted.count == 5, "what is complete is kept")
        let anew = try await self.part(5, counted, at: Self.start + 10)
        #expect(anew.0 == 2 && !anew.1)
        let late = try await self.part(5, counted, at: Self.start + 20)
        #expect(late.0 == 2 && !late.1, "a part that nobody has gone on with is old")
    }

    @Test func aFullCountContinuesAPartialCount() async throws {
        let counted = Counter()
        _ = try await self.part(5, counted, at: Self.start)
        #expect(try await self.count(5, counted, at: Self.start)[.accepted] == 5)
        #expect(counted.count == 5)
    }

    @Test func aShortPartialCountIsNotCached() async throws {
        let counted = Counter()
        for number in 1...3 {
            let part = try await self.part(1, counted, at: Self.start)
            #expect(part.0 == 1 && part.1 && counted.count == number)
        }
    }
}
