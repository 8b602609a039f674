internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// Counts a notification's pushes by state, and caches a count that took long.
final class DeliveryCounts: Sendable {
    /// The largest number of pushes that one step counts. Counting in steps lets other reports and
    /// writes run between the steps. The count of a notification with fewer pushes is not cached.
    static let countedAtOnce = 10_000
    static let kept: TimeInterval = 10

    /// The number of steps for a request that does not wait for a complete count. These steps take
    /// about 100 ms.
    static let stepsOfPart = 5

    private struct Count: Sendable {
        var counts: [DeliveryStage: Int] = [:]
        /// The number of the last device whose pushes were counted; `nil` if all pushes were
        /// counted.
        var last: Int64? = 0
        var steps = 0
        var madeAt: Date
    }

    private let long = Mutex(BoundedTable<NotificationID, Count>(limit: 256))
    /// How long a count is cached: this number of seconds for each step that it took, up to
    /// `kept`.
    private let keptForStep: TimeInterval

    init(keptForStep: TimeInterval = .infinity) {
        self.keptForStep = keptForStep
    }

    /// Counts a notification's pushes by calls of `countSome`. Each call gets the number of a
    /// device, counts up to `countedAtOnce` pushes to the devices after this one, and returns the
    /// number of the last counted device, or `nil` if it has counted the last push.
    ///
    /// Counting stops after `steps` calls of `countSome`, and the next request for the same
    /// notification continues after the last counted device.
    func counts(
        of id: NotificationID,
        steps: Int? = nil,
        now: Date,
        countSome: (Int64) async throws -> (counts: [DeliveryStage: Int], last: Int64?)
    ) async throws -> (counts: [DeliveryStage: Int], isComplete: Bool) {
        let known = self.long.withLock { $0[id] }.flatMap { self.isFresh($0, at: now) ? $0 : nil }
        if let known, known.last == nil { return (known.counts, true) }
        var count = known ?? Count(madeAt: now)
        var step = 0
        while let device = count.last, step < steps ?? .max {
            let (some, last) = try await countSome(device)
            count.counts.merge(some, uniquingKeysWith: +)
            count.last = last
            count.steps += 1
            step += 1
        }
        if known == nil, step == 1, count.last == nil { return (count.counts, true) }
        count.madeAt = now
        self.long.withLock { [count] counts in
            // Another request may have counted more pushes meanwhile.
            if let other = counts[id], self.isFresh(other, at: now), other.last ?? .max > count.last ?? .max { return }
            counts[id] = count
        }
        return (count.counts, count.last == nil)
    }

    /// Whether a count may still be used. `abs` is needed, because a count must not stay in use
    /// longer if the clock is set back.
    private func isFresh(_ count: Count, at now: Date) -> Bool {
        abs(now.timeIntervalSince(count.madeAt)) < min(Self.kept, self.keptForStep * Double(count.steps))
    }
}
