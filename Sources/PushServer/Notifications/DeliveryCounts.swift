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

    /// The steps of so many pushes that are made for a request that does not wait for all: some 100 ms.
    static let stepsOfPart = 5

    private struct Count: Sendable {
        var counts: [DeliveryStage: Int] = [:]
        /// The last device's number that was counted; `nil`: all were.
        var last: Int64? = 0
        var steps = 0
        var madeAt: Date
    }

    private let long = Mutex(BoundedTable<NotificationID, Count>(bound: 256))
    /// How long a count is kept at most for each step that it took.
    private let keptForStep: TimeInterval

    init(keptForStep: TimeInterval = .infinity) {
        self.keptForStep = keptForStep
    }

    /// Counts with `countSome`, which counts up to `countedAtOnce` pushes after a device's number, and returns the last
    /// device's number, or `nil` at the end.
    ///
    /// With `steps` it ends after so many, and the next request goes on from there.
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
            // Another request may have come further meanwhile.
            if let other = counts[id], self.isFresh(other, at: now), other.last ?? .max > count.last ?? .max { return }
            counts[id] = count
        }
        return (count.counts, count.last == nil)
    }

    /// Setting the clock back must not make a count last longer.
    private func isFresh(_ count: Count, at now: Date) -> Bool {
        abs(now.timeIntervalSince(count.madeAt)) < min(Self.kept, self.keptForStep * Double(count.steps))
    }
}
