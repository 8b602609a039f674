internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// Counts a notification's pushes by their states, and keeps a count that took long for a while.
final class DeliveryCounts: Sendable {
    /// Pushes that are counted at a time, so that no other report and no write waits for the end of a long count. A
    /// notification with fewer is always counted anew.
    static let countedAtOnce = 10_000
    static let kept: TimeInterval = 10

    private struct Count: Sendable {
        let counts: [DeliveryStage: Int]
        let madeAt: Date
    }

    private let long = Mutex(BoundedTable<NotificationID, Count>(bound: 256))

    /// Counts with `countSome`, which counts up to `countedAtOnce` pushes after a device's number, and returns the last
    /// device's number, or `nil` at the end.
    func counts(
        of id: NotificationID,
        now: Date,
        countSome: (Int64) async throws -> (counts: [DeliveryStage: Int], last: Int64?)
    ) async throws -> [DeliveryStage: Int] {
        // Setting the clock back must not make a count last longer.
        if let count = self.long.withLock({ $0[id] }), abs(now.timeIntervalSince(count.madeAt)) < Self.kept {
            return count.counts
        }
        var (some, last) = try await countSome(0)
        if last == nil { return some }
        var counts = some
        while let device = last {
            (some, last) = try await countSome(device)
            counts.merge(some, uniquingKeysWith: +)
        }
        self.long.withLock { [counts] in $0[id] = Count(counts: counts, madeAt: now) }
        return counts
    }
}
