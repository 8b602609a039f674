import Foundation
import PushCore
import PushStore
import Testing

@testable import PushServer

/// How often a notification's pushes are counted.
@Suite(.timeLimit(.minutes(5))) struct DeliveryCountsTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let counts = DeliveryCounts()

    /// Counts so many pages, and adds to `counted` for each.
    private func count(_ pages: Int64, _ counted: Counter, at now: Date) async throws -> [DeliveryStage: Int] {
        try await self.counts.counts(of: #require(NotificationID(rawValue: 1)), now: now) { device in
            counted.increment()
            return ([.accepted: 1, .failed: 2], device + 1 == pages ? nil : device + 1)
        }
    }

    @Test func aShortCountIsMadeAnewEachTime() async throws {
        let counted = Counter()
        for number in 1...3 {
            #expect(try await self.count(1, counted, at: Self.start) == [.accepted: 1, .failed: 2])
            #expect(counted.count == number)
        }
    }

    @Test func aLongCountIsKeptForAWhile() async throws {
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
}
