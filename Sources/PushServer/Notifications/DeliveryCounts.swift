internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// What became of a notification's pushes, by number. A count that took long is kept for a while.
final class DeliveryCounts: Sendable {
    /// Pushes that are counted at a time, so that nobody else who waits for a report, and no write, waits for the end of a long
    /// count. A notification with fewer is always counted anew.
    static let countedAtOnce = 10_000
    static let kept: TimeInterval = 10

    private struct Count: Sendable {
        let counts: [DeliveryStage: Int]
        let madeAt: Date
    }

    private let long = Mutex(BoundedTable<NotificationID, Count>(bound: 256))

    /// Counts with `countSome`, which counts so many behind a device's number and says how far it has come; `nil` after the last.
    func counts(
        of id: NotificationID,
        now: Date,
        countSome: (Int64) async throws -> (counts: [DeliveryStage: Int], last: Int64?)
    ) async throws -> [DeliveryStage: Int] {
        // A clock that is put back makes no count last longer.
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
