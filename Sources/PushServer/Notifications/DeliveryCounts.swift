internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// Counts a notification's pushes by state, and caches a count that took long.
final class DeliveryCounts: Sendable {
    /// The number of pushes that one step counts, so that no other report and no write waits until
    /// a long count has ended. A count of fewer pushes is never cached.
    static let countedAtOnce = 10_000
    static let kept: TimeInterval = 10

    /// The number of steps for a request that does not wait for a complete count: about 100 ms.
    static let stepsOfPart = 5

    private struct Count: Sendable {
        var counts: [DeliveryStage: Int] = [:]
        /// The number of the last device that was counted; `nil` if all were.
        var last: Int64? = 0
        var steps = 0
        var madeAt: Date
    }

    private let long = Mutex(BoundedTable<NotificationID, Count>(limit: 256))
    /// The longest time that a count is cached, in seconds for each step that it took.
    private let keptForStep: TimeInterval

    init(keptForStep: TimeInterval = .infinity) {
        self.keptForStep = keptForStep
    }

    /// Counts by calls of `countSome`. Each call counts up to `countedAtOnce` pushes after a
    /// device's number, and returns the last device's number, or `nil` at the end.
    ///
    /// Counting stops after `steps` calls, and the next request continues there.
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
            // Another request may have counted further meanwhile.
            if let other = counts[id], self.isFresh(other, at: now), other.last ?? .max > count.last ?? .max { return }
            counts[id] = count
        }
        return (count.counts, count.last == nil)
    }

    /// Whether a count may still be used. Setting the clock back must not make a count last
    /// longer.
    private func isFresh(_ count: Count, at now: Date) -> Bool {
        abs(now.timeIntervalSince(count.madeAt)) < min(Self.kept, self.keptForStep * Double(count.steps))
    }
}
